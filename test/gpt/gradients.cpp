// Compares the gradients with finite differences of the loss, in double precision.
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace {

struct parameter {
  std::string tensor;
  double* value;
  double gradient;
};

// A few elements of every tensor: all of a short one, some of a long one.
std::vector<parameter> some_of(gpt::worker<double>& w) {
  std::vector<parameter> chosen;
  for (int group = 0; group < w.shape().groups(); ++group) {
    w.visit(group, [&](auto const& what, auto const& weight, auto const& gradient) {
      // Most tokens do not occur in the batch; the ones that do have a gradient.
      std::vector<std::size_t> moving;
      for (std::size_t i = 0; i < weight.size(); ++i) {
        if (gradient.data[i] != 0) moving.push_back(i);
      }
      REQUIRE(!moving.empty());
      std::size_t const pace = std::max<std::size_t>(moving.size() / 12, 1);
      for (std::size_t i = 0; i < moving.size(); i += pace) {
        chosen.push_back({what.name, weight.data + moving[i], gradient.data[moving[i]]});
      }
    });
  }
  return chosen;
}

// The loss that is trained on; it also spreads tokens over experts. It is known after a backward.
double trained_loss(gpt::worker<double> const& w) {
  double sum = 0;
  for (double loss : w.balance_losses()) sum += loss;
  double const predicted =
      w.shape().predicts ? mean_loss(w.shape(), w.prediction_losses()) * w.shape().prediction : 0;
  return w.loss() + w.shape().balance * sum / w.shape().micro_batches + predicted;
}

void check_gradients(gpt::config const& shape) {
  gpt::worker<double> w(shape, 7);
  w.set_batch(gpt_test::batch_for(shape));
  // Weights move away from the initial values, where biases are all zero and gains all one.
  for (int group = 0; group < shape.groups(); ++group) {
    w.visit(group, [](auto const& what, auto const& weight, auto const&) {
      gpt::normal_numbers next(gpt::seed_of(what.name, 11));
      for (double& value : weight.flat()) value += 0.2 * next();
    });
  }
  gpt::sequential<double> run(w);
  run.step(gpt::backward_form::split);
  for (auto const& p : some_of(w)) {
    double const before = *p.value;
    double const distance = 1e-5;
    *p.value = before + distance;
    run.step();
    double const above = trained_loss(w);
    *p.value = before - distance;
    run.step();
    double const below = trained_loss(w);
    *p.value = before;
    double const expected = (above - below) / (2 * distance);
    CAPTURE(p.tensor);
    CHECK(std::abs(p.gradient - expected) <= 1e-8 + 1e-5 * std::abs(expected));
  }
}

}  // namespace

TEST_CASE("gradients agree with finite differences") {
  SUBCASE("one stage") { check_gradients(gpt_test::tiny(1)); }
  SUBCASE("two stages") { check_gradients(gpt_test::tiny(2)); }
  SUBCASE("three stages, of which one has no block") { check_gradients(gpt_test::tiny(3)); }
  SUBCASE("three stages, one block") { check_gradients(gpt_test::tiny(3, 1)); }
  SUBCASE("no blocks at all") { check_gradients(gpt_test::tiny(2, 0)); }
  SUBCASE("two stages with experts") {
    gpt::config shape = gpt_test::tiny(2, 1);
    shape.experts = 3;
    shape.balance = 5;  // so that it counts
    check_gradients(shape);
  }
  SUBCASE("two stages, the last micro-batch shorter") {
    gpt::config shape = gpt_test::tiny(2);
    shape.sequences = 3;
    shape.last_sequences = 1;
    check_gradients(shape);
  }
  SUBCASE("one stage, tied") { check_gradients(gpt_test::tied(gpt_test::tiny(1))); }
  SUBCASE("two stages, tied") { check_gradients(gpt_test::tied(gpt_test::tiny(2))); }
  SUBCASE("one stage with a prediction layer") {
    check_gradients(gpt_test::predicting(gpt_test::tiny(1)));
  }
  SUBCASE("three stages with a prediction layer") {
    check_gradients(gpt_test::predicting(gpt_test::tiny(3)));
  }
  SUBCASE("three stages, the last of the prediction layer alone") {
    check_gradients(gpt_test::predicting_apart(gpt_test::tiny(3)));
  }
  SUBCASE("no blocks but that of the prediction layer") {
    check_gradients(gpt_test::predicting(gpt_test::tiny(2, 0)));
  }
  SUBCASE("a prediction layer, the last micro-batch shorter") {
    gpt::config shape = gpt_test::predicting(gpt_test::tiny(2));
    shape.sequences = 3;
    shape.last_sequences = 1;
    check_gradients(shape);
  }
  SUBCASE("three stages, tied") { check_gradients(gpt_test::tied(gpt_test::tiny(3))); }
}

TEST_CASE("every tensor of the model is checked") {
  gpt::worker<double> w(gpt_test::tiny(3), 7);
  w.set_batch(gpt_test::batch_for(w.shape()));
  gpt::sequential<double>(w).step();
  // A block has 2 norms and 4 linears of 2 tensors; there are 2 embeddings, the final norm, the head.
  CHECK(gpt_test::tensors(w, gpt_test::which::gradient).size() == 2 * 12 + 6);
  // One of them is the other.
  gpt::worker<double> tied(gpt_test::tied(gpt_test::tiny(3)), 7);
  CHECK(gpt_test::tensors(tied, gpt_test::which::gradient).size() == 2 * 12 + 5);
  CHECK(tied.parameters() + 10 * gpt::vocabulary == w.parameters());
}

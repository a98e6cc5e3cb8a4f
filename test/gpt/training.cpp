// The model learns, and starts from values that do not depend on how it is cut.
#include "support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

using gpt_test::small;
using gpt_test::tensors;
using gpt_test::tiny;
using gpt_test::which;

TEST_CASE("the loss falls") {
  gpt::worker<float> w(small(2), 1);
  gpt::sequential<float> run(w);
  w.set_batch(gpt_test::batch_for(w.shape()));
  run.evaluate();
  double const before = w.loss();
  CHECK(before == doctest::Approx(std::log(gpt::vocabulary)).epsilon(0.03));
  for (int step = 0; step < 20; ++step) {
    run.step();
    gpt::update(std::vector{&w}, {});
  }
  run.evaluate();
  CHECK(w.loss() < 0.6 * before);
}

TEST_CASE("initial values depend on the seed and not on the stages") {
  gpt::worker<float> one(small(1), 9);
  gpt::worker<float> three(small(3), 9);
  gpt::worker<float> other(small(1), 10);
  CHECK(tensors(one, which::weight) == tensors(three, which::weight));
  CHECK(tensors(one, which::weight) != tensors(other, which::weight));
  CHECK(one.parameters() == three.parameters());
}

TEST_CASE("the number of parameters") {
  int const width = 48;
  std::size_t const block = 12 * width * width + 13 * width;
  gpt::worker<float> const w(small(2), 1);
  CHECK(w.parameters() == (256 + 20) * width + 3 * block + 2 * width + (width + 1) * 256);
}

TEST_CASE("clipping bounds the norm of the gradient") {
  gpt::worker<double> w(tiny(2), 1);
  w.set_batch(gpt_test::batch_for(w.shape()));
  gpt::sequential<double>(w).step();
  double squares = 0;
  for (auto const& [name, values] : tensors(w, which::gradient)) {
    for (double const value : values) squares += value * value;
  }
  CHECK(gpt::gradient_norm(std::vector{&w}) == doctest::Approx(std::sqrt(squares)));
  auto const scale = [&](double clip) {
    return gpt::adam_options{.clip = clip}.scale_for(gpt::gradient_norm(std::vector{&w}));
  };
  CHECK(scale(0) == 1);
  CHECK(scale(1e9) == 1);
  CHECK(scale(1e-3) == doctest::Approx(1e-3 / std::sqrt(squares)));
}

TEST_CASE("the first Adam step has the length of the learning rate") {
  gpt::worker<double> w(tiny(1), 1);
  w.set_batch(gpt_test::batch_for(w.shape()));
  gpt::sequential<double>(w).step();
  auto const before = tensors(w, which::weight);
  gpt::update(std::vector{&w}, {.rate = 0.01, .epsilon = 0, .clip = 1e-4});
  auto const after = tensors(w, which::weight);
  auto const gradients = tensors(w, which::gradient);
  auto const& bias = gradients.at("head.bias");
  for (std::size_t i = 0; i < bias.size(); ++i) {
    double const moved = after.at("head.bias")[i] - before.at("head.bias")[i];
    CHECK(moved == doctest::Approx(bias[i] > 0 ? -0.01 : 0.01));
  }
}

TEST_CASE("shapes that cannot be are refused") {
  auto const build = [](gpt::config const& shape) { return gpt::worker<float>(shape, 1).parameters(); };
  CHECK_THROWS_WITH_AS(build({.width = 97}), "a width of 97 does not divide into 4 heads",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(build({.stages = 0}), "the model needs at least 1 stages, not 0",
                       std::invalid_argument);
  CHECK_THROWS_AS(build({.blocks = -1}), std::invalid_argument);
  gpt::worker<float> w(tiny(1), 1);
  CHECK_THROWS_WITH_AS(w.set_batch({}), "a batch of this model has 20 tokens, not 0",
                       std::invalid_argument);
}

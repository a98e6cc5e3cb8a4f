// Steps with the optimizer on the GPU, enqueued and replayed.
#include "gpt_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

using namespace gpt_cuda_test;
using gpt_test::tied;
using gpt_test::tiny;

namespace {

template <class T>
std::vector<std::vector<float>> weights_of(gpt_cuda::worker<T> const& w) {
  std::vector<std::vector<float>> all;
  for (int g = 0; g < w.shape().groups(); ++g) all.push_back(w.weights(g));
  return all;
}

// Four steps, of which the last are replayed.
template <class T>
std::vector<std::vector<float>> train(gpt::config const& shape, bool replays,
                                      std::vector<double>& losses) {
  gpt_cuda::worker<T> w(shape, 3);
  one_stream<T> run(w);
  ashlar::cuda::executable_graph captured;
  for (int step = 0; step < 4; ++step) {
    w.set_batch(gpt_test::batch_for(shape, static_cast<std::uint64_t>(step)));
    w.set_optimizer({.rate = 1e-2 / (1 + step), .clip = 0.5});
    if (replays && step == 1) captured = run.capture(backward_form::split);
    if (captured)
      run.replay(captured);
    else
      run.step(backward_form::split);
    w.set_updates(step + 1);
    losses.push_back(w.loss());
  }
  return weights_of(w);
}

}  // namespace

// If a gradient is nothing but rounding errors, as that of the keys' bias, Adam makes whole steps of
// them: the host is given the GPU's gradient, which is compared by itself.
TEST_CASE("gpt_cuda: in fp32, steps of training are the host's") {
  for (gpt::config const& shape : {tiny(2), tied(tiny(3))}) {
    CAPTURE(shape.width);
    gpt::worker<float> host(shape, 3);
    gpt::sequential<float> reference(host);
    gpt_cuda::worker<float> w(shape, 3, {}, gpt_cuda::gradients::kept);
    one_stream<float> run(w);
    for (int step = 0; step < 3; ++step) {
      gpt::adam_options const options{.rate = 1e-2, .clip = step == 1 ? 1e9 : 0.1};
      gpt::batch const batch = gpt_test::batch_for(shape, static_cast<std::uint64_t>(step));
      host.set_batch(batch);
      w.set_batch(batch);
      w.set_optimizer(options);
      reference.step();
      run.step();
      for (int g = 0; g < shape.groups(); ++g) {
        CAPTURE(g);
        std::vector<float> gradient = w.gradient(g);
        CHECK(distance(as_doubles(gradient), as_doubles(host.gradient(g))) < 1e-5);
        host.reduced(run, {.group = g, .gradient = std::as_writable_bytes(std::span(gradient))});
      }
      double const norm = gpt::gradient_norm<float>({&host});
      CHECK(std::abs(w.gradient_norm() - norm) < 1e-6 * norm);
      gpt::update<float>({&host}, options);
      w.set_updates(step + 1);
      for (int g = 0; g < shape.groups(); ++g) {
        CAPTURE(g);
        CHECK(distance(as_doubles(w.weights(g)), as_doubles(host.weights(g))) < 1e-6);
        CHECK(distance(as_doubles(w.first_moment(g)), as_doubles(host.first_moment(g))) < 1e-6);
        CHECK(distance(as_doubles(w.second_moment(g)), as_doubles(host.second_moment(g))) < 1e-6);
      }
    }
  }
}

TEST_CASE_TEMPLATE("gpt_cuda: a step that is replayed is the step that was captured", T, float, bf16) {
  std::vector<double> eager, replayed;
  CHECK(train<T>(tied(tiny(2)), false, eager) == train<T>(tied(tiny(2)), true, replayed));
  CHECK(eager == replayed);
}

TEST_CASE_TEMPLATE("gpt_cuda: training does not depend on the number of stages", T, float, bf16) {
  std::vector<double> one, three;
  std::vector<float> first, cut;
  for (auto const& group : train<T>(tiny(1), false, one))
    first.insert(first.end(), group.begin(), group.end());
  for (auto const& group : train<T>(tiny(3), false, three))
    cut.insert(cut.end(), group.begin(), group.end());
  CHECK(one == three);
  CHECK(first == cut);
}

TEST_CASE("gpt_cuda: in bf16, a batch is learned") {
  gpt::config const shape = tiny(2);
  gpt_cuda::worker<bf16> w(shape, 3);
  one_stream<bf16> run(w);
  w.set_batch(gpt_test::batch_for(shape));
  double first = 0;
  for (int step = 0; step < 20; ++step) {
    w.set_optimizer({.rate = 3e-2});
    run.step();
    w.set_updates(step + 1);
    if (step == 0) first = w.loss();
  }
  CHECK(first > 5);
  CHECK(w.loss() < first / 2);
}

TEST_CASE("gpt_cuda: a step whose gradient is not finite changes no weight") {
  gpt::config const shape = tiny(2);
  gpt_cuda::worker<float> w(shape, 3);
  std::vector<float> spoilt = w.weights(1);
  spoilt[0] = std::numeric_limits<float>::infinity();
  w.set_weights(1, spoilt);
  auto const before = w.weights(0);
  w.set_batch(gpt_test::batch_for(shape));
  one_stream<float>(w).step();
  CHECK(!std::isfinite(w.gradient_norm()));
  CHECK(w.weights(0) == before);
}

TEST_CASE("gpt_cuda: what does not fit is refused") {
  gpt_cuda::worker<float> w(tiny(2), 3);
  CHECK_THROWS_AS(w.set_batch({}), std::invalid_argument);
  CHECK_THROWS_AS(w.set_weights(0, std::vector<float>(3)), std::invalid_argument);
  gpt::config wrong = tiny(2);
  wrong.heads = 3;
  CHECK_THROWS_AS(gpt_cuda::worker<float>(wrong, 3), std::invalid_argument);
  gpt::config in_shards = tiny(2);
  in_shards.shards = 1;
  CHECK_THROWS_AS(gpt_cuda::worker<float>(in_shards, 3), std::invalid_argument);
  gpt::config predicting = tied(tiny(2));
  predicting.predicts = true;
  CHECK_THROWS_AS(gpt_cuda::worker<float>(predicting, 3), std::invalid_argument);
}

// K-FAC in the bubbles: its factors are those of the gradients, its inverses are inverses, and its bits
// those of K-FAC outside the pipeline.
#include "kfac/optimizer.hpp"
#include "kfac/work.hpp"
#include "kfac/worker.hpp"
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace {

using namespace ashlar;

// K-FAC without an engine for it: curvature right after each backward, inverses after the run.
class plain_kfac : public kfac::worker<double> {
 public:
  // It sums the first `sampled` micro-batches of each run.
  plain_kfac(gpt::config const& shape, int sampled) : kfac::worker<double>(shape, 3), sampled_(sampled) {
    for (int stage = 0; stage < shape.stages; ++stage)
      memory_.emplace_back(
          gpt::elements_of<kfac::stage_sums<double>, double>(gpt::shape_of(shape, stage)));
  }
  void backward(auto&, frame const& f) { pass(f, {true, true}); }
  void backward_input(auto&, frame const& f) { pass(f, {true, false}); }

  void invert_all() {
    for (int stage = 0; stage < shape().stages; ++stage) {
      for (int layer = 0; layer < at(stage).shape.blocks * kfac::layers_of_block; ++layer)
        invert(at(stage).shape, sums(stage), layer);
      std::ranges::fill(memory_[static_cast<std::size_t>(stage)].span(), 0.0);
    }
  }
  kfac::stage_sums<double> sums(int stage) {
    gpt::carver<double> from(memory_[static_cast<std::size_t>(stage)].data());
    return {from, at(stage).shape};
  }
  // Largest difference between a layer's weight gradient of the last micro-batch and the product of what
  // its factors are made of; and between the factors and sums of outer products by the definition.
  double worst_gradient = 0, worst_factor = 0;

 private:
  void pass(frame const& f, gpt::backward_parts parts) {
    auto const& own = at(f.what.stage);
    run_split(f, parts);
    if (f.what.micro_batch >= sampled_) return;
    auto const stash = laid_out<gpt::stage_stash<double>>(own, f.stash, own.stash_size);
    auto const made = laid_out<gpt::stage_gradients<double>>(own, f.weight_stash, own.weight_stash_size);
    kfac::add(sums(f.what.stage), stash);
    kfac::add(sums(f.what.stage), made);
    if (f.what.micro_batch > 0 || !parts.weight) return;
    gpt::carver<double> from(data(f.weight_gradient));
    gpt::stage_parameters<double> const gradient(from, own.shape);
    for (int block = 0; block < own.shape.blocks; ++block) {
      auto const of = gradient.blocks[block];
      gpt::linear<double> const linear[] = {of.qkv, of.projection, of.up, of.down};
      for (std::size_t i = 0; i < kfac::layers_of_block; ++i)
        compare(kfac::inputs_of(stash.blocks[block])[i], kfac::gradients_of(made.blocks[block])[i],
                linear[i], sums(f.what.stage).blocks[block].layers[i]);
    }
  }

  void compare(gpt::matrix<double> const& x, gpt::matrix<double> const& y,
               gpt::linear<double> const& gradient, kfac::layer_sums<double> const& found) {
    auto const input = [&](int row, int i) { return i < x.cols ? x(row, i) : 1.0; };
    auto const output = [&](int row, int i) { return y(row, i); };
    auto const sum = [&](auto const& left, int i, auto const& right, int j) {
      double total = 0;
      for (int row = 0; row < x.rows; ++row) total += left(row, i) * right(row, j);
      return total;
    };
    for (int i = 0; i <= x.cols; ++i)
      for (int j = 0; j < y.cols; ++j) {
        double const expected = i < x.cols ? gradient.weight(i, j) : gradient.bias(0, j);
        worst_gradient = std::max(worst_gradient, std::abs(sum(input, i, output, j) - expected));
      }
    for (int i = 0; i <= x.cols; ++i)
      for (int j = 0; j <= i; ++j)
        worst_factor = std::max(worst_factor, std::abs(sum(input, i, input, j) - found.inputs(i, j)));
    for (int i = 0; i < y.cols; ++i)
      for (int j = 0; j <= i; ++j)
        worst_factor =
            std::max(worst_factor, std::abs(sum(output, i, output, j) - found.gradients(i, j)));
  }

  int sampled_;
  std::vector<gpt::array<double>> memory_;  // by stage
};

schedule kfac_step(char const* name) {
  return catalog::find(name)->make(
      {.p = devices{2}, .m = micro_batches{3}, .cost = costs(stage_cost{20, 20, 20})});
}

}  // namespace

TEST_CASE("K-FAC: what is between the inverses was between damped averages before") {
  kfac::layer_shape const shape{3, 2};
  gpt::carver<double> measure;
  kfac::layer_sums<double>(measure, shape);
  gpt::array<double> memory(measure.used()), result(8);
  gpt::carver<double> from(memory.data());
  kfac::layer_sums<double> const sums(from, shape);
  kfac::layer_curvature<double> curvature(shape);
  double gradient[8], a[4][4] = {}, b[2][2] = {}, trace_a = 0, trace_b = 0;
  gpt::matrix<double> const g{gradient, 4, 2, 2}, found{result.data(), 4, 2, 2};
  CHECK_THROWS_AS(curvature.precondition(g, found), std::logic_error);
  for (int i = 0; i < 8; ++i) gradient[i] = std::sin(1.0 + i);
  // Three refreshes of 7 rows each; the gradients are those of a mean over 10 tokens.
  double const weights[] = {0.25, 0.25, 0.5};  // the first two count the same, then a half goes
  for (int refresh = 0; refresh < 3; ++refresh) {
    std::ranges::fill(memory.span(), 0.0);
    for (int row = 0; row < 7; ++row) {
      double x[4], y[2];
      for (int i = 0; i < 4; ++i) x[i] = i < 3 ? std::sin(2.0 + 9 * refresh + 4 * row + i) : 1;
      for (int i = 0; i < 2; ++i) y[i] = std::cos(3.0 + 7 * refresh + 5 * row + i);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
          if (j <= i) sums.inputs(i, j) += x[i] * x[j];
          a[i][j] += weights[refresh] * x[i] * x[j] / 7;
        }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          if (j <= i) sums.gradients(i, j) += y[i] * y[j];
          b[i][j] += weights[refresh] * 100 * y[i] * y[j] / 7;
        }
    }
    curvature.refresh(sums, 10, {.decay = 0.5, .damping = 0.09});
  }
  for (int i = 0; i < 4; ++i) trace_a += a[i][i];
  for (int i = 0; i < 2; ++i) trace_b += b[i][i];
  double const balance = std::sqrt(trace_a / 4 / (trace_b / 2));
  for (int i = 0; i < 4; ++i) a[i][i] += 0.3 * balance;
  for (int i = 0; i < 2; ++i) b[i][i] += 0.3 / balance;
  curvature.precondition(g, found);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) {
      double product = 0;
      for (int k = 0; k < 4; ++k)
        for (int l = 0; l < 2; ++l) product += a[i][k] * found(k, l) * b[l][j];
      CHECK(product == doctest::Approx(g(i, j)).epsilon(1e-10).scale(1));
    }
}

TEST_CASE("K-FAC: factors are sums of the rows whose products are the gradients") {
  gpt::config shape = gpt_test::tiny(2, 4);
  plain_kfac w(shape, 1);
  w.set_batch(gpt_test::batch_for(shape));
  schedule const step = catalog::find("1f1b")->make({.p = devices{2}, .m = micro_batches{2}});
  sequential(lower(step), w).run();
  CHECK(w.worst_gradient < 1e-12);
  CHECK(w.worst_factor < 1e-12);
  auto const counted = w.sums(1).blocks[1].layers[3].inputs;
  CHECK(counted(counted.rows - 1, counted.cols - 1) == shape.rows());  // tokens
}

TEST_CASE("K-FAC: in the bubbles of any schedule it gives the bits of K-FAC outside the pipeline") {
  struct test_case {
    char const* name;
    kfac::work_ticks ticks;
    int steps;  // that the work takes
  };
  for (test_case const& c : {test_case{"1f1b", {1, 1, 1}, 2}, test_case{"1f1b", {20, 20, 12}, 5},
                             test_case{"zb-h1", {1, 1, 1}, 2}, test_case{"v-half", {1, 1, 1}, 2}}) {
    CAPTURE(c.name);
    CAPTURE(c.steps);
    schedule const step = kfac_step(c.name);
    gpt::config shape = gpt_test::tiny(step.stage_count(), 4);
    filling const filled = fill_steps(step, kfac::work_for(step, shape, c.ticks));
    REQUIRE(*std::ranges::max_element(filled.steps) == c.steps);
    CHECK(makespan(filled.filled) <= c.steps * filled.step);
    shape.micro_batches = filled.filled.micro_batch_count();
    kfac::worker<double> found(shape, 3);
    plain_kfac expected(shape, step.micro_batch_count());
    host::runtime inside(lower(filled.filled), found);
    sequential outside(lower(repeated(step, c.steps)), expected);
    for (std::uint64_t i = 0; i < 3; ++i) {
      gpt::batch const batch = gpt_test::batch_for(shape, i);
      found.set_batch(batch);
      expected.set_batch(batch);
      inside.run();
      outside.run();
      expected.invert_all();
      kfac::update(found, {});
      kfac::update(expected, {});
    }
    for (int stage = 0; stage < shape.stages; ++stage)
      CHECK(std::ranges::equal(found.weights(stage), expected.weights(stage)));
  }
}

TEST_CASE("K-FAC: a step is shortened to the change that is allowed") {
  gpt::config shape = gpt_test::tiny(2, 2);
  schedule const step = catalog::find("1f1b")->make({.p = devices{2}, .m = micro_batches{2}});
  auto const moved = [&](double rate, double most_change) {
    plain_kfac w(shape, 2);
    w.set_batch(gpt_test::batch_for(shape));
    sequential(lower(step), w).run();
    w.invert_all();
    auto const weights = gpt_test::tensors(w, gpt_test::which::weight);
    kfac::update(w, {.rate = rate, .most_change = most_change});
    double most = 0;
    auto const& name = "block 1.up.weight";
    auto const now = gpt_test::tensors(w, gpt_test::which::weight);
    CHECK(now.at("head.bias") != weights.at("head.bias"));  // by Adam
    for (std::size_t i = 0; i < now.at(name).size(); ++i)
      most = std::max(most, std::abs(now.at(name)[i] - weights.at(name)[i]));
    return most;
  };
  double const free = moved(0.1, 1e9), shortened = moved(1, 1e-6);
  CHECK(moved(0.2, 1e9) == doctest::Approx(2 * free));
  CHECK(shortened < free);
  CHECK(moved(1, 4e-6) == doctest::Approx(2 * shortened));
  CHECK(moved(7, 1e-6) == doctest::Approx(shortened));
}

TEST_CASE("K-FAC: what it does not do is refused") {
  gpt::config shape = gpt_test::tiny(2, 2);
  kfac::worker<double> w(shape, 1);
  CHECK_THROWS_AS(kfac::update(w, {}), std::logic_error);
  auto const build = [](gpt::config const& c) { return kfac::worker<double>(c, 1).parameters(); };
  shape.data_ranks = 2;
  CHECK_THROWS_AS(build(shape), std::invalid_argument);
  shape.data_ranks = 1;
  shape.experts = 4;
  CHECK_THROWS_AS(build(shape), std::invalid_argument);
  schedule const step = kfac_step("v-half");
  CHECK_THROWS_AS(kfac::work_for(step, gpt_test::tiny(4, 2)), std::invalid_argument);
}

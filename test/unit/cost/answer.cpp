#include <ashlar/cost/step/answer.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

// Steps from 0.9 to 1.1 times what is predicted, and peaks from 0.8 to 1.3 times.
spreads tenth_around() {
  spreads s;
  s.steps = {.low = std::log(0.9), .high = std::log(1.1), .beyond = 1};
  s.peaks = {.low = std::log(0.8), .high = std::log(1.3), .beyond = 1};
  for (spread& each : s.steps.kinds) each = {.within = 0.6, .between = 0.8, .runs = 100, .sources = 4};
  for (spread& each : s.peaks.kinds) each = {.within = 0.6, .between = 0.8, .runs = 50, .sources = 2};
  return s;
}

}  // namespace

TEST_CASE("answer: the interval is around the step") {
  question const q = asked(dense_model(8), 2);
  answer const a = predict_run(q, round_constants(), tenth_around());
  CHECK(a.low == doctest::Approx(0.9 * a.step.seconds));
  CHECK(a.high == doctest::Approx(1.1 * a.step.seconds));
  CHECK(a.beyond.empty());
  CHECK(a.kind == run_kind::dense_16_bits);
  CHECK(a.tokens_per_second(q) == doctest::Approx(64 * 2048 / a.step.seconds));
  CHECK(a.fits);
}

TEST_CASE("answer: it fits without a doubt only where measured peaks say so, too") {
  question q = asked(dense_model(8), 2);
  constants const c = round_constants();
  double const peak = predict_run(q, c, tenth_around()).peak;
  for (auto const& [share, expected] : {std::pair{1.31, fit::fits},
                                        {1.29, fit::should_fit},
                                        {1.01, fit::should_fit},
                                        {0.99, fit::should_not_fit},
                                        {0.81, fit::should_not_fit},
                                        {0.79, fit::does_not_fit}}) {
    q.cluster.device().memory_bytes = share * peak + c.outside_bytes;
    answer const a = predict_run(q, c, tenth_around());
    CHECK(a.memory_fit == expected);
    CHECK(a.fits == (share > 1));
    CHECK(a.has_peak_interval);
    CHECK(a.low_peak == doctest::Approx(0.8 * peak));
    CHECK(a.high_peak == doctest::Approx(1.3 * peak));
    answer const unknown = predict_run(q, c, {});
    CHECK(!unknown.has_peak_interval);
    CHECK(unknown.memory_fit == (share > 1 ? fit::should_fit : fit::should_not_fit));
  }
}

TEST_CASE("answer: a property that no measured run has makes the interval wider") {
  question const q = asked(dense_model(8), 2);
  constants const c = round_constants();
  spreads around = tenth_around();
  around.host_link = 200e9;
  double const usual = std::log(1.1);
  auto const widths = [&](auto change) {
    question other = q;
    change(other);
    answer const a = predict_run(other, c, around);
    CHECK(a.has_interval());
    return std::pair{a.beyond.size(), std::log(a.high / a.step.seconds) / usual};
  };
  auto const has = [&](std::size_t properties, auto change) {
    auto const [found, width] = widths(change);
    CHECK(found == properties);
    CHECK(width == doctest::Approx(std::sqrt(1.0 + static_cast<double>(properties))));
  };
  auto const leaves = [](question& o) {
    o.cluster.device().host = {.link = 50e9, .memory_bytes = 1e12, .memory_bandwidth = 100e9};
    o.layout.offload.parts = offloaded::all;
  };
  has(0, [](question&) {});
  has(0, [&](question& o) {
    leaves(o);
    o.cluster.device().host.link = 200e9;
  });
  has(1, [](question& o) { o.program.dispatches_8_bits = true; });
  has(0, [](question& o) { o.layout.recompute = recomputation::norms; });
  has(1, [](question& o) {
    o.layout.recompute = recomputation::full;
    o.layout.recompute_in.first = 2;
  });
  has(1, leaves);
  has(1, [](question& o) { o.program.attention = attention_kernel::unfused; });
  has(2, [&](question& o) {
    o.program.attention = attention_kernel::unfused;
    leaves(o);
  });
  around.largest = {.sequence = 1024};
  has(1, [](question&) {});
  around.kernels = {{.device = family::ampere}};
  has(2, [](question&) {});
  around.kernels.push_back(kernels_of(q));
  has(1, [](question&) {});
}

TEST_CASE("answer: an interval needs measured runs of such a machine and of such sizes") {
  measured_sizes const largest{
      .sequence = 1024, .devices = 16, .pipeline = 2, .tensor = 2, .context = 2, .expert = 2};
  question const q = asked(dense_model(8), 4);
  CHECK(interval_gap_of(q, {}) == interval_gap::none);
  CHECK(interval_gap_of(q, largest) == interval_gap::none);  // twice the largest
  auto const with = [&](auto change) {
    question other = q;
    change(other);
    return interval_gap_of(other, largest);
  };
  CHECK(with([](question& o) { o.cluster.device().is_measured = false; }) == interval_gap::machine);
  CHECK(with([](question& o) { o.sequence = 2049; }) == interval_gap::sequence);
  CHECK(with([](question& o) { o.cluster.kinds.front().devices = 40; }) == interval_gap::devices);
  CHECK(with([](question& o) { o.layout.pipeline = 8; }) == interval_gap::pipeline);
  CHECK(with([](question& o) { o.layout.tensor = 8; }) == interval_gap::tensor);
  CHECK(with([](question& o) { o.layout.context = 8; }) == interval_gap::context);
  CHECK(with([](question& o) { o.layout.expert = 8; }) == interval_gap::expert);
  CHECK(with([](question& o) { o.layout.pipeline = 16; }) == interval_gap::idle_stage);
  CHECK(with([](question& o) { o.layout.offload.optimizer = true; }) == interval_gap::features);
  CHECK(with([](question& o) { o.layout.offload.parts = offloaded::all; }) == interval_gap::none);
  question far = q;
  far.cluster.device().is_measured = false;
  answer const a = predict_run(far, round_constants(), tenth_around());
  CHECK(!a.has_interval());
  CHECK(!a.has_peak_interval);
  CHECK(a.memory_fit == fit::should_fit);
}

TEST_CASE("answer: a format that the device lacks is refused") {
  question q = asked(dense_model(8));
  q.program.format = number_format::nvfp4;
  try {
    predict_run(q, round_constants(), {});
    FAIL("no format was refused");
  } catch (unpredictable const& e) {
    CHECK(e.broken == requirement::machine_has_the_format);
  }
}

TEST_CASE("answer: it fits if enough is left, and each stage has work") {
  question q = asked(dense_model(8));
  constants const c = round_constants();
  answer const a = predict_run(q, c, {});
  q.cluster.device().memory_bytes = a.peak + c.outside_bytes;
  CHECK(predict_run(q, c, {}).fits);
  q.cluster.device().memory_bytes *= 0.999;
  CHECK(!predict_run(q, c, {}).fits);
  q = asked(dense_model(2));
  q.layout.pipeline = 8;
  q.layout.data = 1;
  CHECK(!predict_run(q, c, {}).every_stage_works);
  CHECK(!predict_run(q, c, {}).fits);
}

TEST_CASE("answer: without intervals, only what is predicted says whether it fits") {
  for (bool const fits : {false, true}) {
    answer a = predict_run(asked(dense_model(8), 2), round_constants(), tenth_around());
    REQUIRE(a.has_interval());
    a.fits = fits;
    a.leave_out_intervals();
    CHECK_FALSE(a.has_interval());
    CHECK_FALSE(a.has_peak_interval);
    CHECK(a.memory_fit == (fits ? fit::should_fit : fit::should_not_fit));
  }
}

TEST_CASE("answer: kinds of runs") {
  question q = asked(dense_model(4));
  CHECK(run_kind_of(q) == run_kind::dense_16_bits);
  q.program.format = number_format::fp8;
  CHECK(run_kind_of(q) == run_kind::dense_8_bits);
  q.layout.sharding = sharding::full;
  CHECK(run_kind_of(q) == run_kind::sharded);
  q = asked(routed_model(4));
  CHECK(run_kind_of(q) == run_kind::experts);
  q = asked(scanned_model(4));
  CHECK(run_kind_of(q) == run_kind::experts);
  q = asked(dense_model(4));
  q.program.format = number_format::fp16;
  CHECK(run_kind_of(q) == run_kind::classic);
  q.program.kind = program_kind::tuned;
  CHECK(run_kind_of(q) == run_kind::dense_16_bits);
  q.program.format = number_format::bf16;
  q.model.kinds[0].mix.groups = q.model.kinds[0].mix.heads;  // Llama's first form
  q.program.kind = program_kind::automatic;
  CHECK(run_kind_of(q) == run_kind::plain);
}

TEST_CASE("answer: constants must be positive numbers") {
  question const q = asked(dense_model(4));
  for (named_constant const& each : constant_names)
    for (double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      constants c = round_constants();
      c.*each.value = wrong;
      CHECK_THROWS_AS(predict_run(q, c, {}), unpredictable);
    }
}

}  // namespace ashlar::cost::testing

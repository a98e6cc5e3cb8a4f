#include <ashlar/cost/step/calibrate.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

constant_spreads equal_spreads(double each) {
  constant_spreads all;
  all.fill(each);
  return all;
}

std::size_t number_of(double constants::*value) {
  for (std::size_t i = 0; i < constant_count; ++i)
    if (constant_names[i].value == value) return i;
  return constant_count;
}

// Runs on Hopper in 16 bits, of many sizes.
std::vector<question> runs_on_hopper(std::size_t count) {
  random_case::dice roll(6);
  std::vector<question> runs;
  while (runs.size() < count) {
    question q = random_question(roll);
    q.cluster.device().built = generation::hopper;
    q.program.format = number_format::bf16;
    runs.push_back(q);
  }
  return runs;
}

std::vector<double> seconds_of(std::vector<question> const& runs, constants const& c) {
  std::vector<double> all;
  for (question const& q : runs) all.push_back(step_of(q, stages_of(q), c).seconds);
  return all;
}

// A run whose time is that of products, on so many tensor ranks.
question wide_run(int tensor = 1) {
  question q = asked(dense_model(8, 8192));
  q.layout.tensor = tensor;
  q.layout.data /= tensor;
  return q;
}

}  // namespace

TEST_CASE("calibrate: constants that runs were made with are found again, or nearly") {
  constants const start = round_constants();
  constants made = start;
  made.products_hopper_16 = 0.75;
  made.memory = 0.4;
  std::vector<question> const runs = runs_on_hopper(30);
  std::vector<double> const measured = seconds_of(runs, made);
  calibration const found = calibrate(runs, measured, start, equal_spreads(0.25));
  CHECK(found.fitted.products_hopper_16 > 0.65);
  CHECK(found.fitted.memory < 0.48);
  CHECK(found.fitted.products_ampere_16 == doctest::Approx(start.products_ampere_16));
  std::vector<double> const without = ratios_left_out(runs, measured, start, equal_spreads(0.25));
  double before = 0, after = 0, left_out = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    before += std::fabs(found.before[i] - 1) / 30;
    after += std::fabs(found.after[i] - 1) / 30;
    left_out += std::fabs(without[i] - 1) / 30;
  }
  CHECK(after < 0.3 * before);
  CHECK(left_out < 0.4 * before);
}

TEST_CASE("calibrate: one run moves constants a little, and those that it does not show not at all") {
  std::vector<question> const runs(1, wide_run());
  constants const start = round_constants();
  double const now = step_of(runs[0], stages_of(runs[0]), start).seconds;
  constant_spreads products_alone{};
  for (auto each : {&constants::products_hopper_16, &constants::products_blackwell_8})
    products_alone[number_of(each)] = 0.2;
  calibration const found = calibrate(runs, {now / 1.2}, start, products_alone);
  CHECK(found.after[0] < found.before[0]);
  CHECK(found.fitted.products_blackwell_8 == doctest::Approx(start.products_blackwell_8));
  CHECK(found.fitted.latency == start.latency);
  CHECK(ratios_left_out(runs, {now / 1.2}, start, products_alone).empty());
}

TEST_CASE("calibrate: a constant moves as far as its spread and the error's deviation let it") {
  std::vector<question> const runs(1, wide_run());
  constants const start = round_constants();
  std::size_t const i = number_of(&constants::products_hopper_16);
  for (double spread : {0.02, 0.1, 0.5}) {
    constant_spreads one{};
    one[i] = spread;
    double const off = 0.01, now = step_of(runs[0], stages_of(runs[0]), start).seconds * std::exp(-off);
    calibration const found = calibrate(runs, {now}, start, one);
    // One run, one constant, a small error: the posterior of normal distributions.
    double const slope = slopes_of(runs[0], stages_of(runs[0]), start, {i})[0];
    double const known = 1 / (1 / (spread * spread) + slope * slope / (0.04 * 0.04));
    double const moved = std::log(found.fitted.products_hopper_16 / start.products_hopper_16);
    CHECK(slope < -0.5);
    CHECK(moved == doctest::Approx(-known * slope * off / (0.04 * 0.04)).epsilon(0.02));
    CHECK(found.doubts.of == std::vector<std::size_t>{i});
    CHECK(found.doubts.covariance[0] == doctest::Approx(known).epsilon(0.02));
    // Without the run, the error is the first one.
    CHECK(std::log(found.alone[0]) == doctest::Approx(off).epsilon(0.05));
  }
}

TEST_CASE("calibrate: what is left open shrinks with runs, and most for runs like them") {
  constants const start = round_constants();
  std::vector<question> const runs{wide_run(1), wide_run(2), wide_run(4), wide_run(8)};
  std::vector<double> const measured = seconds_of(runs, start);
  constant_spreads const spread = equal_spreads(0.25);
  question other = runs[0];
  other.cluster.device().built = generation::ampere;
  double before = 1e9;
  for (std::size_t count : {1u, 2u, 4u}) {
    std::vector<question> const some(runs.begin(), runs.begin() + static_cast<long>(count));
    std::vector<double> const their(measured.begin(), measured.begin() + static_cast<long>(count));
    constant_doubts const left = calibrate(some, their, start, spread).doubts;
    double const now = step_variance(runs[0], stages_of(runs[0]), start, left);
    CHECK(now < before);
    CHECK(now < step_variance(other, stages_of(other), start, left));
    before = now;
  }
}

TEST_CASE("calibrate: a run without a time of its own is refused") {
  std::vector<question> const runs{wide_run(1), wide_run(2)};
  for (std::vector<double> const& measured :
       {std::vector<double>{1.0}, {1.0, 2.0, 3.0}, {1.0, 0.0}, {1.0, -1.0}, {1.0, 1e30}})
    for (int left_out : {0, 1}) try {
        if (left_out == 0)
          calibrate(runs, measured, round_constants(), equal_spreads(0.25));
        else
          ratios_left_out(runs, measured, round_constants(), equal_spreads(0.25));
        FAIL("no run was refused");
      } catch (unpredictable const& e) {
        CHECK(e.broken == requirement::every_run_is_measured);
        CHECK(e.number == 2);
        CHECK(e.limit == (measured.size() == 3 ? 3 : 1));  // that were measured
      }
}

TEST_CASE("doubts about constants that there are not, or without their covariances, are refused") {
  question const run = wide_run(1);
  auto const refused = [&](constant_doubts const& doubts) {
    try {
      step_variance(run, stages_of(run), round_constants(), doubts);
    } catch (unpredictable const& e) {
      return e.broken == requirement::doubts_are_of_constants;
    }
    return false;
  };
  CHECK(refused({.of = {constant_count}, .covariance = {1}}));
  CHECK(refused({.of = {0, 1}, .covariance = {1, 1, 1}}));
  CHECK_FALSE(refused({.of = {0, 1}, .covariance = {1, 0, 0, 1}}));
  CHECK_THROWS_AS(check(constant_doubts{.of = {constant_count}, .covariance = {1}}), unpredictable);
  CHECK_THROWS_AS(static_cast<void>(slopes_of(run, stages_of(run), round_constants(), {constant_count})),
                  unpredictable);
}

}  // namespace ashlar::cost::testing

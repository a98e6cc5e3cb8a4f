#include <ashlar/cost/step/calibrate.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

TEST_CASE("calibrate: constants that runs were made with are found again, or nearly") {
  random_case::dice roll(6);
  constants const start = round_constants();
  constants made = start;
  made.products_hopper_16 = 0.75;
  made.memory = 0.4;
  std::vector<question> runs;
  std::vector<double> measured;
  while (runs.size() < 30) {
    question q = random_question(roll);
    q.cluster.device().built = generation::hopper;
    q.program.format = number_format::bf16;
    runs.push_back(q);
    measured.push_back(step_of(q, stages_of(q), made).seconds);
  }
  calibration const found = calibrate(runs, measured, start);
  CHECK(found.fitted.products_hopper_16 > 0.65);
  CHECK(found.fitted.memory < 0.48);
  CHECK(found.fitted.products_ampere_16 == doctest::Approx(start.products_ampere_16));
  double before = 0, after = 0, left_out = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    before += std::fabs(found.before[i] - 1) / 30;
    after += std::fabs(found.after[i] - 1) / 30;
    left_out += std::fabs(found.left_out[i] - 1) / 30;
  }
  CHECK(after < 0.3 * before);
  CHECK(left_out < 0.4 * before);
}

TEST_CASE("calibrate: one run moves constants a little, and those that it does not show not at all") {
  std::vector<question> const runs(1, asked(dense_model(8)));
  constants const start = round_constants();
  double const now = step_of(runs[0], stages_of(runs[0]), start).seconds;
  calibration const found = calibrate(runs, {now / 1.2}, start);
  CHECK(found.after[0] < found.before[0]);
  CHECK(found.fitted.products_blackwell_8 == doctest::Approx(start.products_blackwell_8));
  CHECK(found.fitted.latency == start.latency);
  CHECK(found.left_out.empty());
}

}  // namespace ashlar::cost::testing

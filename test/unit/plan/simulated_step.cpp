#include <ashlar/plan/simulated_step.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/schedule/repeat.hpp>

using namespace ashlar;

namespace {

constexpr bool is_about(double a, double b) { return a - b < 1e-6 && b - a < 1e-6; }

constexpr bool test_simulated_step() {
  schedule const s = repeat(catalog::one_f_one_b(devices{2}), micro_batches{3});
  // 1F1B of m micro-batches on p devices alike: (m + p - 1) (forward + backward).
  HOLDS(is_about(simulated_step(s, {{1, 2, 0, 0}, {1, 2, 0, 0}}, message_mode::beside), 12));
  // The reduction follows the last backward of its stage; the second stage ends 2 before the first.
  HOLDS(is_about(simulated_step(s, {{1, 2, 0, 5}, {1, 2, 0, 0}}, message_mode::beside), 17));
  HOLDS(is_about(simulated_step(s, {{1, 2, 0, 0}, {1, 2, 0, 5}}, message_mode::beside), 15));
  // Blocking, each forward of the first stage and each backward of the second takes one more.
  HOLDS(is_about(simulated_step(s, {{1, 2, 1, 0}, {1, 2, 0, 0}}, message_mode::blocking), 16));
  return true;
}
static_assert(test_simulated_step());

}  // namespace

TEST_CASE("simulated steps: passes, messages and reductions in seconds") {
  CHECK(test_simulated_step());
  // Beside the passes, messages cost what is exposed: no more than if they block.
  schedule const s = repeat(catalog::one_f_one_b(devices{2}), micro_batches{3});
  double const beside = simulated_step(s, {{1, 2, 1, 0}, {1, 2, 0, 0}}, message_mode::beside);
  CHECK(beside > 12);
  CHECK(beside <= 16);
}

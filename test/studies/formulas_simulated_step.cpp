#include "studies/formulas/simulated_step.hpp"
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/catalog/seq1f1b.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <doctest/doctest.h>

using namespace formulas;

namespace {

bool is_about(double a, double b) { return a - b < 1e-6 && b - a < 1e-6; }

TEST_CASE("simulated steps: passes, messages and reductions in seconds") {
  schedule const s = repeat(catalog::one_f_one_b(devices{2}), micro_batches{3});
  // 1F1B of m micro-batches on p devices alike: (m + p - 1) (forward + backward).
  CHECK(is_about(simulated_step(s, {{{1, 2}, 0, 0}, {{1, 2}, 0, 0}}, message_mode::beside), 12));
  // The reduction follows the last backward of its stage; the second stage ends 2 before the first.
  CHECK(is_about(simulated_step(s, {{{1, 2}, 0, 5}, {{1, 2}, 0, 0}}, message_mode::beside), 17));
  CHECK(is_about(simulated_step(s, {{{1, 2}, 0, 0}, {{1, 2}, 0, 5}}, message_mode::beside), 15));
  // Blocking, each forward of the first stage and each backward of the second takes one more.
  CHECK(is_about(simulated_step(s, {{{1, 2}, 1, 0}, {{1, 2}, 0, 0}}, message_mode::blocking), 16));
}

// Two sequences in two chunks each run on one device.
TEST_CASE("simulated steps: chunks of sequences") {
  schedule const s = repeat(catalog::seq1f1b(devices{1}, 2), micro_batches{4});
  stage_seconds const first{.passes = {1, 3}, .reduction = 5, .weight = 1},
      second{.passes = {2, 4}, .reduction = 5, .weight = 1};
  CHECK(is_about(simulated_step(s, {first, second}, message_mode::beside), 2 * (1 + 3 + 2 + 4) + 5));
  CHECK(is_about(simulated_step(s, {first}, message_mode::beside), 4 * (1 + 3) + 5));
  execution_costs const cost = step_machine({first, second}, message_mode::beside, 2).cost;
  CHECK(cost.of({pass_kind::backward_input, 0, 3}, 0) == 3'000'000'000);
  CHECK(cost.of({pass_kind::backward_weight, 0, 3}, 0) == 1'000'000'000);
  // A stage has one reduction, and a blocking message for each chunk.
  schedule const two = repeat(catalog::seq1f1b(devices{2}, 2), micro_batches{4});
  stage_seconds const sends{.passes = {1, 2}, .send = 1}, sums{.passes = {1, 2}, .reduction = 100};
  double const step = simulated_step(two, {sends, sends, sums, sums}, message_mode::beside);
  CHECK((step > 100 && step < 200));
  step_machine({sends, sends, sums, sums}, message_mode::blocking, 2)
      .cost.passes.for_each([](int, int, stage_cost const& each) {
        CHECK(each.forward + each.backward_input + each.backward_weight == 4'000'000'000);
      });
  // Some of a backward is always left for the input pass.
  CHECK(step_machine({{.passes = {0, 3}, .weight = 3}}, message_mode::beside)
            .cost.passes.of(0)
            .backward_input
        == 1);
}

}  // namespace

TEST_CASE("simulated steps: messages beside passes cost what is exposed") {
  // Beside the passes, messages cost what is exposed: no more than if they block.
  schedule const s = repeat(catalog::one_f_one_b(devices{2}), micro_batches{3});
  double const beside = simulated_step(s, {{{1, 2}, 1, 0}, {{1, 2}, 0, 0}}, message_mode::beside);
  CHECK(beside > 12);
  CHECK(beside <= 16);
}

#include <ashlar/lower/lower.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/residency_rules.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace shapes;

namespace {

constexpr schedule of_three_chunks() {
  return catalog::depth_first(devices{2}, chunks{3}, 2) | repeat(micro_batches{4}) | squeeze();
}

constexpr lower_options with_plan(residency weights, sharding_level level = sharding_level::weights) {
  return {.data_ranks = 2, .sharding = level, .weights = std::move(weights)};
}

int count_code(program const& p, int device, opcode code) {
  int count = 0;
  for (instruction const& i : p.view().stream(device)) count += i.code == code;
  return count;
}

TEST_CASE("a program gathers as planned, in the buffers of the plan, and is proved") {
  for (catalog_case const& c : catalog_cases({2, 3}, {4, 6})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    for (sharding_level const level : {sharding_level::optimizer, sharding_level::gradients,
                                       sharding_level::weights, sharding_level::full})
      for (int const stages : {1, 2, 3})
        for (bool const window : {false, true}) {
          residency const plan =
              planned_residency(s, {.stages = stages, .passes_ahead = 3, .window = window});
          program const p = lower(s, with_plan(plan, level));
          CHECK(check(p).ok());
          for (int d = 0; d < s.device_count(); ++d) {
            int const gathers = static_cast<int>(plan.stays[static_cast<std::size_t>(d)].size());
            CHECK(count_code(p, d, opcode::all_gather) == gathers);
            CHECK(count_code(p, d, opcode::release) == gathers);
            CHECK(count_slots(p.view(), d, slot_kind::weight) == plan.buffer_count(d));
          }
        }
  }
}

// A stay is as long as it is planned: between its gather and its release stand the passes of the plan.
TEST_CASE("gathers and releases stand at their passes") {
  schedule const s = of_three_chunks();
  residency const plan = planned_residency(s, {.stages = 2, .lookahead = 2});
  program const p = lower(s, with_plan(plan));
  for (int d = 0; d < 2; ++d) {
    std::vector<weight_stay> found;
    int passes = 0;
    for (instruction const& i : p.view().stream(d)) {
      if (i.code == opcode::compute) ++passes;
      if (i.code == opcode::all_gather) found.push_back({i.group, 0, passes, -1});
      if (i.code != opcode::release) continue;
      for (weight_stay& stay : found)
        if (stay.stage == i.group && stay.last < 0) stay.last = passes - 1;
    }
    std::vector<weight_stay> expected = plan.stays[static_cast<std::size_t>(d)];
    for (weight_stay& stay : expected) stay.buffer = 0;
    CHECK(found == expected);
  }
}

TEST_CASE("weights that come between the passes of a pair take it apart") {
  schedule s = squeeze(catalog::find("dualpipev")->make({devices{2}, micro_batches{6}}));
  auto const pairs = [](program const& p) {
    int count = 0;
    for (instruction const& i : p.instructions) count += i.overlaps_next;
    return count;
  };
  program const together = lower(s, with_plan(planned_residency(s, {.stages = 2, .window = false}))),
                apart = lower(s, with_plan(planned_residency(s, {.stages = 1, .window = false})));
  CHECK(pairs(together) > 0);
  CHECK(pairs(apart) == 0);
}

TEST_CASE("a plan that does not fit is refused") {
  schedule const s = of_three_chunks();
  residency plan = planned_residency(s, {.stages = 2});
  CHECK_BREAKS(gathered_weights_are_used, lower(s, with_plan(plan, sharding_level::none)));
  plan.stays[0].front().last = 0;
  CHECK_BREAKS(weights_are_resident_when_used, lower(s, with_plan(plan)));
  plan.stays.pop_back();
  CHECK_BREAKS(tables_agree, lower(s, with_plan(plan)));
}

}  // namespace

#include <ashlar/plan/serving/two_phase.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

// The time of two phases, without schedules: every device first prefills, then decodes in rounds.
tick walk(two_phase const& shape, std::vector<phase_times> const& by_device) {
  std::vector<tick> free(by_device.size(), 0);
  auto const pass_through = [&](tick ready, tick phase_times::*time) {
    for (std::size_t d = 0; d < free.size(); ++d)
      ready = free[d] = std::max(ready, free[d]) + by_device[d].*time;
    return ready;
  };
  std::vector<tick> prefilled;
  for (int i = 0; i < shape.prefills; ++i) prefilled.push_back(pass_through(0, &phase_times::prefill));
  std::vector<tick> token;
  for (int g = 0; g < shape.groups; ++g) {  // its last sample is in this prefill
    int const last = ((g + 1) * shape.prefills - 1) / shape.groups;
    token.push_back(prefilled[static_cast<std::size_t>(last)]);
  }
  for (int t = 0; t < shape.tokens; ++t)
    for (tick& each : token) each = pass_through(each, &phase_times::decode);
  return free.back();
}

std::vector<two_phase> some_shapes() {
  return {{1, 1, 1}, {4, 4, 3}, {8, 2, 5}, {2, 4, 3}, {6, 4, 2}, {3, 3, 0}, {1, 1, 4}};
}
std::vector<std::vector<phase_times>> some_devices() {
  return {{{5, 1}}, {{9, 2}, {7, 3}}, {{30, 2}, {20, 7}, {40, 3}}, {{3, 3}, {3, 3}, {3, 3}, {3, 3}}};
}

TEST_CASE("two phases are a schedule, with a ring for the tokens") {
  two_phase const shape{.prefills = 4, .groups = 2, .tokens = 2};
  CHECK((shape.units() == 2 && shape.prefills_of_unit() == 2 && shape.groups_of_unit() == 1));
  schedule const s = two_phase_schedule(shape, {{10, 2}, {8, 1}});
  CHECK((s.stage_count() == 2 * (2 + 2) && s.micro_batch_count() == 2));
  CHECK((check(s).ok() && check(lower(s)).ok()));
  // Both prefills of a unit come before its first token, and a token from the last device before the
  // next.
  list_view<int> const first = s.graph.predecessors(shape.decode_stage(2, 0, 0, 0));
  CHECK((first.size() == 2 && first.first[0] == 1 && first.first[1] == 3));
  list_view<int> const second = s.graph.predecessors(shape.decode_stage(2, 1, 0, 0));
  CHECK((second.size() == 1 && second.first[0] == shape.decode_stage(2, 0, 0, 1)));
  // Device 0 decodes the first unit while device 1 still prefills the last: 40 + 2, 48.
  CHECK((s.order[0][4].start == 40 && s.order[1][3].start == 40));
  // The second unit's prompt is through at 48; its second token waits for device 0, which is busy with
  // the first unit's until 52.
  CHECK(makespan(s) == 55);
  CHECK(two_phase_formula(shape, {{10, 2}, {8, 1}}) == two_phase_estimate{48, 7});
}

TEST_CASE("two phases take what a walk from device to device takes, as schedules and in simulation") {
  for (two_phase const& shape : some_shapes())
    for (std::vector<phase_times> const& by_device : some_devices()) {
      schedule const s = two_phase_schedule(shape, by_device);
      REQUIRE(check(s).ok());
      CHECK(makespan(s) == walk(shape, by_device));
      program const p = lower(s);
      CHECK(check(p).ok());
      CHECK(simulate(p, {.cost = s.cost}).makespan() == makespan(s));
    }
}

TEST_CASE("a group waits for all prefills that it has samples in common with") {
  two_phase const shape{.prefills = 3, .groups = 2, .tokens = 1};
  stage_graph const graph = two_phase_graph(shape, 1);
  CHECK(graph.predecessors(shape.decode_stage(1, 0, 0, 0)).size() == 2);  // of three thirds, 0 and 1
  CHECK(graph.predecessors(shape.decode_stage(1, 0, 1, 0)).size() == 2);  // 1 and 2
  CHECK(graph.predecessors(shape.decode_stage(1, 0, 1, 0)).first[0] == 1);
}

TEST_CASE("two phases of nothing are refused") {
  CHECK_BREAKS(counts_are_positive, two_phase_schedule({.prefills = 0}, {{1, 1}}));
  CHECK_BREAKS(counts_are_positive, two_phase_schedule({.groups = 0}, {{1, 1}}));
  CHECK_BREAKS(counts_are_positive, two_phase_schedule({.tokens = -1}, {{1, 1}}));
  CHECK_BREAKS(counts_are_positive, two_phase_schedule({}, {}));
  CHECK_BREAKS(no_duration_is_negative, two_phase_schedule({}, {{1, 0}}));
}

}  // namespace

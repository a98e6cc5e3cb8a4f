// Stages whose backwards run on other devices than their forwards: schedules, programs, proofs.
#include "mutate.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/round_pipe.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

// Forwards of two stages on devices 0 and 1, backwards on 2 and 0. Forwards take 2 ticks, backwards 3,
// transfers 1.
constexpr schedule moving() {
  return squeeze(schedule_from_orders(
      placement(devices{3}, {{0, 1}}, {{2, 0}}), {0, 0}, costs(stage_cost{2, 2, 1}, 1),
      {{{F, 0, 0}, {F, 0, 1}, {B, 1, 0}, {B, 1, 1}}, {{F, 1, 0}, {F, 1, 1}}, {{B, 0, 0}, {B, 0, 1}}}));
}

constexpr bool test_moving() {
  schedule const s = moving();
  // F00 0-2, F10 3-5, what it keeps is on device 0 at 6; B10 6-9, its gradient on device 2 at 10.
  if (!check(s).ok() || s.order[0][2].start != 6 || s.order[2][0].start != 10) return false;
  program const p = lower(s);
  return check(p).ok() && p.groups.holders(0).size() == 2 && p.groups.holders(1).size() == 2;
}
static_assert(test_moving());

TEST_CASE("where stages move, passes are on the devices of their kind, and inputs take their time") {
  CHECK(test_moving());
  schedule s = moving();
  CHECK(s.where.moves());
  CHECK((s.device_of({F, 0, 0}) == 0 && s.device_of({B, 0, 0}) == 2 && s.device_of({R, 0, 0}) == 2));
  CHECK(mirror(mirror(s.where)) == s.where);
  CHECK((mirror(s.where).device_of(0, 0) == 2 && mirror(s.where).backward_device_of(0, 0) == 0));
  CHECK(placement(devices{2}, {{0, 1}}, {{0, 1}}) == linear(devices{2}));
  s.order[2][0].start = 9;
  CHECK(check(s).broken == rule::no_pass_starts_before_its_input);
  s = moving();
  std::swap(s.order[1][0], s.order[2][0]);
  CHECK(check(s).broken == rule::pass_is_on_its_device);
  CHECK_BREAKS(tables_agree, placement(devices{2}, {{0, 1}}, {{0, 1}, {1, 0}}));
  CHECK_BREAKS(tables_agree, placement(devices{2}, {{0, 1}}, {{0}}));
  CHECK_BREAKS(every_stage_has_a_device, placement(devices{2}, {{0, 1}}, {{0, 2}}));
}

TEST_CASE("in inference stages that move send nothing that a forward keeps") {
  schedule s = moving();
  s.mode = execution_mode::inference;
  for (auto& order : s.order) std::erase_if(order, [](time_slot const& t) { return t.what.kind == B; });
  program const p = lower(squeeze(s));
  CHECK(check(p).ok());
  for (instruction const& i : p.instructions)
    if (i.code == opcode::send || i.code == opcode::receive) CHECK(i.to != i.what.stage);
}

TEST_CASE("a program sends what its forwards keep, once, to where the backwards are") {
  program const good = lower(moving());
  CHECK(check(good).ok());
  int kept = 0;
  for (instruction const& i : good.instructions)
    if (i.code == opcode::send && i.what.kind == F && i.to == i.what.stage) {
      ++kept;
      CHECK(i.peer == good.where.backward_device_of(0, i.to));
    }
  CHECK(kept == 4);
  // Times: as the schedule's.
  simulation_options const o{.cost = moving().cost, .latency_holds_lane = false};
  CHECK(simulate(good, o).makespan() == makespan(moving()));
  for (int d = 0; d < 3; ++d)
    for (int i = good.stream_begin[static_cast<std::size_t>(d)];
         i < good.stream_begin[static_cast<std::size_t>(d) + 1]; ++i) {
      instruction const& self = good.instructions[static_cast<std::size_t>(i)];
      if (self.code != opcode::send && self.code != opcode::receive) continue;
      CAPTURE(i);
      program p = good;
      p.instructions[static_cast<std::size_t>(i)].to = 1 - self.to;  // it is for another stage
      CHECK(!check(p).ok());
      CHECK(!explain(check(p), p).empty());
      p = good;
      p.instructions[static_cast<std::size_t>(i)].peer = 3 - d - self.peer;  // or device
      CHECK(!check(p).ok());
      p = good;
      p.instructions[static_cast<std::size_t>(i)].what.micro_batch ^= 1;
      CHECK(!check(p).ok());
    }
}

TEST_CASE("a program without a message, or with it too late, is refused") {
  program const good = lower(moving());
  int refused = 0;
  for (std::size_t i = 0; i < good.instructions.size(); ++i) {
    instruction const& self = good.instructions[i];
    if (self.code != opcode::receive || self.to != self.what.stage) continue;
    // A receive that comes behind the backward that reads it.
    program p = good;
    int const device = device_of_instruction(p, static_cast<int>(i));
    int const at = static_cast<int>(i) - stream_begin(p, device);
    for (int next = at + 1; next < stream_end(p, device) - stream_begin(p, device); ++next) {
      exchange(p, device, next - 1, next);
      instruction const& before =
          p.instructions[static_cast<std::size_t>(stream_begin(p, device) + next - 1)];
      if (before.code != opcode::compute || before.what.micro_batch != self.what.micro_batch
          || before.what.stage != self.what.stage)
        continue;
      CHECK(!check(p).ok());
      ++refused;
      break;
    }
  }
  CHECK(refused == 4);
}

TEST_CASE("what asks for one device of each stage refuses stages that move") {
  schedule const s = moving();
  CHECK_BREAKS(moving_stages_are_whole, peak_activations(s));
  CHECK_BREAKS(moving_stages_are_whole, reorder(s));
  CHECK_BREAKS(moving_stages_are_whole, relocate(s, linear(devices{2})));
  CHECK_BREAKS(moving_stages_are_whole, overlay(s.where, s.where));
  CHECK_BREAKS(moving_stages_are_whole, lower(s, {.offload = {.forwards = {{F, 0, 0}}}}));
  CHECK(!is_mirror_symmetric(s));
  CHECK(!has_workload(s));
  schedule other = s;
  other.graph = in_sequence_chunks(chain(stages{2}), 2);
  CHECK(check(other).broken == rule::moving_stages_are_whole);
  program p = lower(s);
  p.offloads = true;
  CHECK(check(p).broken == rule::moving_stages_are_whole);
  block b = catalog::one_f_one_b(devices{2});
  b.where = placement(devices{2}, {{0, 1}}, {{1, 0}});
  CHECK(check(b).broken == rule::moving_stages_are_whole);
}

TEST_CASE("cuts of RoundPipe") {
  using catalog::round_pipe_cut;
  CHECK(check(round_pipe_cut{{2, 1}, {2, 1, 2}}).ok());
  CHECK(check(round_pipe_cut{{2}, {2, 1, 2}}).broken == rule::tables_agree);
  CHECK(check(round_pipe_cut{{2, 0, 1}, {2, 1, 2}}).broken == rule::counts_are_positive);
  CHECK(check(round_pipe_cut{{2}, {}}).broken == rule::counts_are_positive);
  CHECK_BREAKS(counts_are_positive, catalog::plan_round_pipe({}, 4));
  CHECK_BREAKS(tables_agree, catalog::plan_round_pipe({{1}, {1, 2}}, 4));
  CHECK_BREAKS(memory_is_within_budget, catalog::plan_round_pipe({{1}, {1}, {3}, {3}, 2}, 4));
  // A layer's forwards in a task of four, backwards in tasks of one; the last task has both.
  round_pipe_cut const cut = catalog::plan_round_pipe({{1, 1, 1, 1, 1}, {4, 4, 4, 4, 4}}, 2);
  CHECK(cut == round_pipe_cut{{4}, {1, 1, 1, 1, 1}});
}

}  // namespace

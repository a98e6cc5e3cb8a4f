#include <ashlar/simulate/machine.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "options_of.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

TEST_CASE("a program that gets stuck is refused, not waited for") {
  program p = one_f_one_b(2, 2) | lower();
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  for (transfer_mode mode : {transfer_mode::rendezvous, transfer_mode::buffered}) {
    simulation_options o;
    o.mode = mode;
    if (mode == transfer_mode::rendezvous) {
      CHECK_BREAKS(no_cycle_of_waits, simulate(p, o));
    } else {
      CHECK(simulate(p, o).makespan() == 9);  // nobody waits to be received
    }
  }
  try {
    simulate(p, {});
  } catch (violation const& v) {
    CHECK(v.why.first.device >= 0);
    CHECK(v.why.second.device >= 0);
    CHECK(v.why.first != v.why.second);
  }
}

// Messages that hold no lane while they are under way.
simulation_options buffered(costs const& c, tick latency) {
  simulation_options o;
  o.cost = c;
  o.cost.on.links.inside.latency = latency;
  o.latency_holds_lane = false;
  o.mode = transfer_mode::buffered;
  return o;
}

// Bytes that have left hold the sender's lane; bytes under way hold none of the receiver's.
TEST_CASE("a buffered message does not hold the lane that it will arrive on") {
  // Device 1 is to receive 0F1, which begins at 100 and takes 10, before it sends 1F0, which is there at
  // 61.
  costs const c(std::vector<stage_cost>{{50, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  schedule const s = retime(one_f_one_b(3, 2), c);
  program p = lower(s, {.slots = slot_reuse::never});
  int const send = find(p, 1, opcode::send, {F, 1, 0}), receive = find(p, 1, opcode::receive, {F, 0, 1});
  REQUIRE(send < receive);
  move(p, 1, receive, send);
  timeline const line = time_program(p, buffered(c, 10));
  auto const time = [&](opcode code, pass what) {
    return line.timed[static_cast<std::size_t>(p.stream_begin[1] + find(p, 1, code, what))];
  };
  CHECK(time(opcode::compute, {F, 1, 0}).end == 61);
  CHECK(time(opcode::receive, {F, 0, 1}).end == 110);
  CHECK(time(opcode::send, {F, 1, 0}).start == 100);
}

TEST_CASE("buffered messages that are under way together arrive each in its time") {
  costs const c(std::vector<stage_cost>{{50, 1, 1}, {1, 1, 1}});
  schedule const s = catalog::find("gpipe")->make({devices{2}, micro_batches{2}});
  program const p = lower(retime(s, c), {.slots = slot_reuse::never});
  timeline const line = time_program(p, buffered(c, 60));
  for (int k : {0, 1}) {
    int const receive = find(p, 1, opcode::receive, {F, 0, k});
    CHECK(line.timed[static_cast<std::size_t>(p.stream_begin[1] + receive)].end == 50 * (k + 1) + 60);
  }
}

TEST_CASE("issued in the stream's order, a transfer waits for the passes before it") {
  program p = lower(one_f_one_b(2, 2), {.slots = slot_reuse::never});
  int const send = find(p, 0, opcode::send, {F, 0, 0}), next = find(p, 0, opcode::compute, {F, 0, 1});
  REQUIRE(send < next);
  move(p, 0, send, next);
  simulation_options o = options_of(one_f_one_b(2, 2));
  auto const start = [&] {
    return time_program(p, o).timed[static_cast<std::size_t>(find(p, 0, opcode::send, {F, 0, 0}))].start;
  };
  CHECK(start() == 1);
  o.issue = issue_mode::in_stream;
  CHECK(start() == 2);
}

TEST_CASE("and for one that waits for another device itself") {
  program p =
      lower(one_f_one_b(2, 2), {.lanes = transfer_lanes::one_a_direction, .slots = slot_reuse::never});
  int const send = find(p, 0, opcode::send, {F, 0, 1}), back = find(p, 0, opcode::compute, {B, 0, 0});
  REQUIRE(send < back);
  move(p, 0, send, back);
  simulation_options o = options_of(one_f_one_b(2, 2));
  o.issue = issue_mode::in_stream;
  timeline const line = time_program(p, o);
  auto const of = [&](opcode code, pass what) {
    return line.timed[static_cast<std::size_t>(find(p, 0, code, what))];
  };
  CHECK(of(opcode::compute, {B, 0, 0}).end == 6);
  CHECK(of(opcode::send, {F, 0, 1}).start == 6);
  CHECK(line == time_program(p, o));
}

// Device 1 has one slot for what it receives, and reads it until tick 11.
TEST_CASE("a buffered message that is there is taken when there is a slot for it") {
  costs const c(std::vector<stage_cost>{{1, 1, 1}, {10, 1, 1}});
  program const p = lower(catalog::find("gpipe")->make({devices{2}, micro_batches{2}}));
  timeline const line = time_program(p, buffered(c, 0));
  int const receive = find(p, 1, opcode::receive, {F, 0, 1});
  timed_instruction const& t = line.timed[static_cast<std::size_t>(p.stream_begin[1] + receive)];
  CHECK((t.start == 11 && t.end == 11));
}

// Computes before a transfer in its stream are those that issue it. Reductions are issued apart.
TEST_CASE("issue in the stream's order delays no reduction") {
  schedule const s = catalog::find("v-half")->make({devices{2}, micro_batches{4}});
  program const p = lower(s, {.data_ranks = 2, .reduction = gradient_reduction::at_end});
  simulation_options o = options_of(s);
  o.cost.on.collective.latency = 10;
  timeline const by_slots = time_program(p, o);
  o.issue = issue_mode::in_stream;
  timeline const in_stream = time_program(p, o);
  bool is_early = false;
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    if (p.instructions[i].code != opcode::all_reduce) continue;
    CHECK(in_stream.timed[i].start == by_slots.timed[i].start);
    for (std::size_t j = 0; j < i; ++j)
      is_early = is_early
                 || (p.instructions[j].code == opcode::compute
                     && in_stream.timed[j].end > in_stream.timed[i].start);
  }
  CHECK(is_early);  // else nothing was told apart
}

TEST_CASE("copies take bytes over bandwidth, each way on a lane of its own, beside compute") {
  schedule const s = catalog::find("gpipe")->make({devices{1}, micro_batches{3}});
  program const p = lower(
      s,
      {.offload = {.forwards = {{pass_kind::forward, 0, 0}, {pass_kind::forward, 0, 1}}, .copy = {1}}});
  simulation_options o;
  o.cost.on.host.speed = {.latency = 1, .bandwidth = 10};
  o.memory.stages[0].stash = 20;
  auto const time_of = [&](opcode code, int k) {
    timeline const line = time_program(p, o);
    for (std::size_t i = 0; i < p.instructions.size(); ++i)
      if (p.instructions[i].code == code && p.instructions[i].what.micro_batch == k
          && p.instructions[i].what.kind == pass_kind::forward)
        return line.timed[i];
    return timed_instruction{};
  };
  CHECK((time_of(opcode::offload, 0).start == 1 && time_of(opcode::offload, 0).end == 4));
  CHECK((time_of(opcode::offload, 1).start == 4 && time_of(opcode::offload, 1).end == 7));
  CHECK(time_of(opcode::reload, 0).end - time_of(opcode::reload, 0).start == 3);
  o.cost.on.host.shared_by = 2;  // half of the bandwidth is another device's
  CHECK((time_of(opcode::offload, 0).start == 1 && time_of(opcode::offload, 0).end == 6));
  o.cost.on.host = {};
  CHECK(time_of(opcode::offload, 0).end == 1);
  o.cost.on.host.shared_by = 0;
  CHECK_THROWS_AS(static_cast<void>(time_program(p, o)), violation);
  o.cost.on.host = {.speed = {.latency = -1}};
  CHECK_THROWS_AS(static_cast<void>(time_program(p, o)), violation);
}

TEST_CASE("a copy without operands takes what its link takes for nothing") {
  program const p = lower(one_f_one_b(1, 1));
  simulation_options o;
  o.cost.on.host.speed = {.latency = 3, .bandwidth = 1};
  CHECK(time_of_copy(o, p.view(), {.code = opcode::offload, .what = {F, 0, 0}}, 0) == 3);
}

TEST_CASE("a program that ends at the largest tick is refused, and one before it is timed") {
  program const p = lower(one_f_one_b(1, 1), {.step = optimizer_step::at_end});
  simulation_options o{.cost = costs(stage_cost{1, 1, 1}), .optimizer = max_tick - 4};
  CHECK(time_program(p, o).makespan == max_tick - 1);
  ++o.optimizer;
  CHECK_BREAKS(ticks_fit, time_program(p, o));
}

// An input from another device is made where the pass that makes it ends, however long the message
// takes.
TEST_CASE("the inputs of a pair are made when the later of them is") {
  schedule const s = catalog::find("dualpipev")->make({devices{3}, micro_batches{8}});
  program const p = lower(s);
  int told_apart = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulation_options o = options_of(s);
    std::vector<stage_cost> each;
    for (std::uint64_t stage = 0; stage < 6; ++stage) {
      auto const ticks = [&](std::uint64_t number) {
        return static_cast<tick>(1 + mixed(seed * 100 + stage * 10 + number) % 5);
      };
      each.push_back({ticks(1), ticks(2), ticks(3)});
    }
    o.cost.passes = pass_costs(each);
    timeline const line = time_program(p, o);
    auto const end_of = [&](auto gives, int stage, int micro_batch) {
      for (std::size_t i = 0; i < p.instructions.size(); ++i) {
        instruction const& self = p.instructions[i];
        if (self.code == opcode::compute && gives(self.what.kind) && self.what.stage == stage
            && self.what.micro_batch == micro_batch)
          return line.timed[i].end;
      }
      return tick{0};
    };
    for (std::size_t i = 0; i < p.instructions.size(); ++i) {
      if (!p.instructions[i].overlaps_next) continue;
      pass const ahead = p.instructions[i].what, back = p.instructions[i + 1].what;
      tick const first = end_of([](pass_kind k) { return k == F; }, ahead.stage - 1, ahead.micro_batch),
                 second = end_of(gives_input_gradient, back.stage + 1, back.micro_batch);
      CHECK(line.timed[i].made == line.timed[i + 1].made);
      CHECK(line.timed[i].made >= std::max(first, second));
      told_apart += first != second ? 1 : 0;
    }
  }
  CHECK(told_apart > 0);
}

}  // namespace

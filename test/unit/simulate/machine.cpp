#include <ashlar/simulate/machine.hpp>
// First, so that it needs nothing before it.
#include "mutate.hpp"
#include "options_of.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
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

// Bytes that have left hold the sender's lane; what is under way holds none of the receiver's.
TEST_CASE("a buffered message does not hold the lane that it will arrive on") {
  // Device 1 is to receive 0F1, which begins at 100 and takes 10, before it sends 1F0, which is there at
  // 61.
  costs const c(std::vector<stage_cost>{{50, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  schedule const s = retime(one_f_one_b(3, 2), c);
  program p = lower(s, {.slots = slot_reuse::never});
  int const send = find(p, 1, opcode::send, {F, 1, 0}), receive = find(p, 1, opcode::receive, {F, 0, 1});
  REQUIRE(send < receive);
  move(p, 1, receive, send);
  simulation_options o;
  o.cost = c;
  o.cost.on.links.inside.latency = 10;
  o.latency_holds_lane = false;
  o.mode = transfer_mode::buffered;
  timeline const line = time_program(p, o);
  auto const time = [&](opcode code, pass what) {
    return line.timed[static_cast<std::size_t>(p.stream_begin[1] + find(p, 1, code, what))];
  };
  CHECK(time(opcode::compute, {F, 1, 0}).end == 61);
  CHECK(time(opcode::receive, {F, 0, 1}).end == 110);
  CHECK(time(opcode::send, {F, 1, 0}).start == 100);
}

// Computes before a transfer in its stream are those that issue it. Reductions are issued apart.
TEST_CASE("issue in the stream's order delays no reduction") {
  schedule const s = catalog::find("v-half")->make({devices{2}, micro_batches{4}});
  program const p = lower(s, {.data_ranks = 2, .reduction = gradient_reduction::at_end});
  simulation_options o = options_of(s);
  o.collective.latency = 10;
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

}  // namespace

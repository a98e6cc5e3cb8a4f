#include <ashlar/transfer_order.hpp>
// First, so that it needs nothing before it.
#include "depth_first.hpp"
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/check.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/metrics.hpp>
#include <ashlar/simulate.hpp>

#include <utility>

using namespace shapes;

namespace {

constexpr bool test_turns() {
  schedule const s = one_by_one(one_f_one_b(2, 2));
  // First sweep: 0F0, 1F0; second: 0F1, 1B0; third: 0B0, 1F1; then 1B1, 0B1.
  HOLDS(s.order[0][0].start == 0 && s.order[1][0].start == 1);
  HOLDS(s.order[0][1].start == 2 && s.order[1][1].start == 3);
  HOLDS(s.order[0][2].start == 5 && s.order[1][2].start == 7);
  HOLDS(s.order[1][3].start == 8 && s.order[0][3].start == 10);
  HOLDS(check(s).ok());
  return true;
}
BOTH_TIMES("one pass at a time, the devices by turns", test_turns)

constexpr bool test_streams() {
  program const p = lower(one_f_one_b(2, 2), {.transfers = transfer_order::asap});
  // Device 0: 0F0, its send, 0F1, its send, the receive of the first gradient, ...
  opcode const expected[] = {opcode::compute, opcode::send,    opcode::compute,
                             opcode::send,    opcode::receive, opcode::compute,
                             opcode::receive, opcode::compute, opcode::reduce};
  for (std::size_t i = 0; i < 9; ++i) HOLDS(p.instructions[i].code == expected[i]);
  HOLDS(check(p).ok());
  return true;
}
BOTH_TIMES("a transfer is listed right behind its producer", test_streams)

// One transfer lane, rendezvous, a tenth of a forward for a transfer that holds the lane.
tick simulated(schedule const& s, transfer_order order, issue_mode issue) {
  program const p = lower(s, {.transfers = order, .slots = slot_reuse::never});
  REQUIRE(check(p).ok());
  simulation_options o;
  o.cost = s.cost;
  o.inside.latency = s.cost.transfer;
  o.issue = issue;
  return time_program(p, o).makespan;
}

// Ticks of a tenth. Listing transfers as soon as possible puts receives in front of sends that others
// wait for; ordered by time they come for nothing.
TEST_CASE("what the order of transfers costs a depth-first schedule") {
  struct row {
    int chunks;
    tick asap, ordered;
  };
  for (row const& r : {row{2, 2'744, 2'160}, row{4, 5'784, 4'112}}) {
    CAPTURE(r.chunks);
    schedule const s = depth_first(8, r.chunks, 32, costs(stage_cost{10, 10, 10}, 1));
    CHECK(makespan(s) == r.ordered);  // every transfer on its way at once: the ideal
    CHECK(simulated(s, transfer_order::asap, issue_mode::in_stream) == r.asap);
    CHECK(simulated(s, transfer_order::finish_time, issue_mode::by_slots) == r.ordered);
    // Waiting for passes that stand before the receive, but have nothing to do with it.
    CHECK(simulated(s, transfer_order::finish_time, issue_mode::in_stream) > r.ordered);
  }
}

TEST_CASE("an order that cannot be walked is refused") {
  schedule s = one_f_one_b(2, 2);
  std::swap(s.order[1][0], s.order[1][1]);  // backward before forward
  CHECK_BREAKS(order_has_no_cycle, one_by_one(s));
}

}  // namespace

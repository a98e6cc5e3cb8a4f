#include <ashlar/prove/deadlock_free.hpp>
// First, so that it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>

#include <algorithm>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

// Device 0 sends micro-batch 1 before it takes the gradient, device 1 sends the gradient before it takes
// micro-batch 1.
constexpr program head_on() {
  program p = one_f_one_b(2, 2) | lower();
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  return p;
}

constexpr bool test_head_on() {
  HOLDS(check(one_f_one_b(2, 2) | lower()).ok());
  program const p = head_on();
  message_index index(p);
  HOLDS(check_complete(p, index).ok() && check_ordered(p, index).ok());
  diagnosis const d = check_deadlock_free(p, index);
  HOLDS(d.broken == rule::no_cycle_of_waits && d.number == 4 && d.second.device >= 0);
  HOLDS(check(p).broken == rule::no_cycle_of_waits);
  return true;
}
BOTH_TIMES("two sends that wait for each other", test_head_on)

// Whether instruction a cannot end before b is up or has ended, by the rules and not by the machine.
bool waits_for(program const& p, site const& a, site const& b) {
  program_view const v = p.view();
  auto const of = [&](site const& s) { return v.stream(s.device)[static_cast<std::size_t>(s.index)]; };
  instruction const x = of(a), y = of(b);
  if (a.device == b.device) {
    if (b.index >= a.index) return false;
    if (x.lane == y.lane) return true;
    for (operand const& o : v.operands_of(x))
      for (operand const& q : v.operands_of(y))
        if (o.slot == q.slot && (o.how != access::read || q.how != access::read)) return true;
    return false;
  }
  if (x.code == opcode::all_reduce) return y.code == opcode::all_reduce && x.what.stage == y.what.stage;
  bool const halves = (x.code == opcode::send && y.code == opcode::receive)
                      || (x.code == opcode::receive && y.code == opcode::send);
  return halves && x.what == y.what && x.to == y.to && x.peer == b.device && y.peer == a.device;
}

void is_cycle(program const& p) {
  std::vector<site> const circle = find_wait_cycle(p);
  REQUIRE(circle.size() >= 2);
  for (std::size_t i = 0; i < circle.size(); ++i)
    CHECK(waits_for(p, circle[i], circle[(i + 1) % circle.size()]));
}

TEST_CASE("the cycle of head-on sends") {
  is_cycle(head_on());
  std::vector<site> const circle = find_wait_cycle(head_on());
  CHECK(circle.size() == 4);  // send, receive after a send, its receive after the first send
}

TEST_CASE("a lane a peer does not save sends between the same two devices") {
  program p = one_f_one_b(2, 2) | lower({.lanes = transfer_lanes::one_a_peer});
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  CHECK(check(p).broken == rule::no_cycle_of_waits);
  is_cycle(p);
}

TEST_CASE("reductions in opposite orders") {
  program p = two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower();
  CHECK(check(p).ok());
  CHECK(find_wait_cycle(p).empty());
  int const first = find_reduction(p, 0, 0), second = find_reduction(p, 0, 1);
  move(p, 0, std::min(first, second), std::max(first, second));
  CHECK(check(p).broken == rule::no_cycle_of_waits);
  is_cycle(p);
}

TEST_CASE("there is no cycle in a program that is whole or not complete") {
  program p = one_f_one_b(3, 3) | lower();
  CHECK(find_wait_cycle(p).empty());
  drop(p, 0, 0);
  CHECK(find_wait_cycle(p).empty());
  CHECK(find_wait_cycle(program{}).empty());
}

TEST_CASE("a receive before the send that it depends on") {
  // Device 0 takes the gradient before it sends the activation that the gradient is made from.
  program p = one_f_one_b(2, 1) | lower();
  move(p, 0, find(p, 0, opcode::receive, {B, 1, 0}), 0);
  CHECK(check(p).broken == rule::no_cycle_of_waits);
  is_cycle(p);
}

// Would take minutes if each step of the cycle looked through all instructions.
TEST_CASE("a cycle after many instructions") {
  program p = catalog::find("chimera")->make({devices{32}, micro_batches{2'048}})
              | lower({.reduction = gradient_reduction::at_end});
  int first = -1, second = -1;
  for (int i = 0; i < length(p, 0); ++i)
    if (at(p, 0, i).code == opcode::all_reduce) (first < 0 ? first : second) = i;
  exchange(p, 0, first, second);
  std::vector<site> const circle = find_wait_cycle(p);
  CHECK(circle.size() == 4);
  for (site const& s : circle) CHECK(s.code == opcode::all_reduce);
}

constexpr bool test_sums_in_other_orders() {
  schedule t = one_f_one_b(2, 1);
  work_job measured{.parts = {{0, 1}, {1, 1}}}, sum = measured;
  sum.kind = job_kind::all_reduce;
  std::vector<work_edge> edges;
  for (int d = 0; d < 2; ++d)
    for (int job : {0, 1}) {
      t.order[static_cast<std::size_t>(d)].push_back({{X, job, d}, 0});
      edges.push_back({{X, job, d}, {X, job + 2, d}});
    }
  t.work = work_graph({measured, measured, sum, sum}, edges);
  program p = squeeze(t) | lower();
  HOLDS(check(p).ok());
  int const a = find(p, 0, opcode::all_reduce, {X, 2, 0}), b = find(p, 0, opcode::all_reduce, {X, 3, 0});
  exchange(p, 0, a, b);
  HOLDS(check(p).broken == rule::no_cycle_of_waits && find_wait_cycle(p).size() >= 2);
  return true;
}
BOTH_TIMES("sums of work in one order on all devices", test_sums_in_other_orders)

}  // namespace

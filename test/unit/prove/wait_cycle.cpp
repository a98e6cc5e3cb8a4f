#include <ashlar/prove/wait_cycle.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

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

// Device 0 sends micro-batch 1 before it takes the gradient, device 1 sends the gradient before it takes
// micro-batch 1.
TEST_CASE("the cycle of head-on sends") {
  program p = one_f_one_b(2, 2) | lower();
  int const sent = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), sent);
  is_cycle(p);
  std::vector<site> const circle = find_wait_cycle(p);
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

// This would take minutes if each step of the cycle looked through all instructions.
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

// No cycle is found in a program that cannot be read.
TEST_CASE("cycles of waits in what is no program") {
  program p = one_f_one_b(3, 2) | lower();
  p.stream_begin[0] = -1;
  CHECK(find_wait_cycle(p).empty());
  p.stream_begin = {0};
  CHECK(find_wait_cycle(p).empty());
  CHECK(find_wait_cycle({}).empty());
}

}  // namespace

#include <ashlar/prove/ordered.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/complete.hpp>

#include <doctest/doctest.h>

using namespace shapes;
using namespace mutate;

namespace {

constexpr diagnosis judge_order(program const& p) {
  message_index index(p);
  if (diagnosis const d = check_complete(p, index); !d.ok()) return d;
  return check_ordered(p, index);
}

TEST_CASE("the k-th send meets the k-th receive") {
  program p = catalog::find("gpipe")->make({devices{3}, micro_batches{3}}) | lower();
  CHECK(judge_order(p).ok());
  exchange(p, 2, find(p, 2, opcode::receive, {F, 1, 1}), find(p, 2, opcode::receive, {F, 1, 2}));
  diagnosis const d = judge_order(p);
  CHECK(d.broken == rule::sends_and_receives_have_the_same_order);
  CHECK((d.first.device == 1 && d.first.code == opcode::send && d.first.what == pass{F, 1, 1}));
  CHECK((d.second.device == 2 && d.second.code == opcode::receive && d.number == 1));
  // If they are swapped on both sides, it is an order again.
  exchange(p, 1, find(p, 1, opcode::send, {F, 1, 1}), find(p, 1, opcode::send, {F, 1, 2}));
  CHECK(judge_order(p).ok());
}

TEST_CASE("only transfers between the same two devices are compared") {
  // Transfers with different peers have no order among each other.
  program p = one_f_one_b(3, 2) | lower();
  int const from = find(p, 1, opcode::receive, {F, 0, 1}), to = find(p, 1, opcode::send, {F, 1, 0});
  exchange(p, 1, from, to);
  CHECK(judge_order(p).ok());
}

}  // namespace

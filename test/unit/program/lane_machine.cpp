#include <ashlar/program/lane_machine.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

// Writes down what happens, and which member came last.
class noting_machine : public lane_machine<noting_machine> {
 public:
  constexpr noting_machine(program const& p, int lanes)
      : lane_machine(p.view(), partners_in_order(p.view()), lanes) {}
  constexpr void happens(int last, list_view<int> together) {
    bool is_one_of_them = false;
    for (int i : together) {
      order.push_back(i);
      is_one_of_them = is_one_of_them || i == last;
      is_whole = is_whole && is_done(i) == false;
    }
    is_whole = is_whole && is_one_of_them;
    sizes.push_back(together.size());
  }
  std::vector<int> order;
  std::vector<std::size_t> sizes;
  bool is_whole = true;
};

// Device 0 does clear, F, send, receive, B, all-reduce; device 1 does clear, receive, F, B, send,
// all-reduce.
TEST_CASE("each instruction happens once, transfers as one") {
  program const p = one_f_one_b(2, 1) | lower();
  for (int lanes : {1, p.view().lane_count}) {
    noting_machine machine(p, lanes);
    CHECK((machine.run() && machine.is_whole));
    CHECK(machine.cycle().empty());
    CHECK((machine.order.size() == 12 && machine.sizes.size() == 10));
    for (std::size_t at = 0; at < 12; ++at)  // the send first, whoever came last
      if (machine.order[at] == 2 || machine.order[at] == 10)
        CHECK(machine.order[at + 1] == (machine.order[at] == 2 ? 7 : 3));
  }
}

TEST_CASE("the k-th send meets the k-th receive") {
  program p = one_f_one_b(2, 1) | lower();
  std::vector<int> expected(12, -1);
  expected[2] = 7;
  expected[7] = 2;
  expected[10] = 3;
  expected[3] = 10;
  CHECK(partners_in_order(p.view()) == expected);
  p.instructions[2].code = opcode::release;
  expected[2] = expected[7] = -1;
  CHECK(partners_in_order(p.view()) == expected);
}

// Two sends from each of devices 0 and 1 to device 2, which receives one of device 1, three of device 0,
// of which the last is never sent, one more of device 1, and from nobody.
TEST_CASE("messages of several devices do not mix") {
  program p;
  p.where = linear(devices{3});
  p.stream_begin = {0, 2, 4, 10};
  p.instructions.assign(10, {.code = opcode::send, .peer = 2});
  int const sources[] = {1, 0, 0, 0, 1, 3};
  for (std::size_t k = 0; k < 6; ++k)
    p.instructions[4 + k] = {.code = opcode::receive, .peer = sources[k]};
  CHECK(partners_in_order(p.view()) == std::vector<int>({5, 6, 4, 8, 2, 0, 1, -1, 3, -1}));
}

// Devices 0 and 1: the first receives what is never sent, beside a message that is.
TEST_CASE("a message that nobody sends has no partner") {
  program p;
  p.where = linear(devices{2});
  p.stream_begin = {0, 2, 2};
  p.instructions = {{.code = opcode::receive, .peer = 1}, {.code = opcode::send, .peer = 1}};
  CHECK(partners_in_order(p.view()) == std::vector<int>{-1, -1});
}

TEST_CASE("replicas reduce at once, a pair starts at once") {
  program const p = two_ways(3) | repeat(micro_batches{2}) | squeeze() | lower();
  noting_machine machine(p, p.view().lane_count);
  REQUIRE(machine.run());
  std::size_t at = 0;
  for (std::size_t size : machine.sizes) {
    instruction const& first = p.instructions[static_cast<std::size_t>(machine.order[at])];
    CHECK(size
          == (first.code == opcode::send         ? 2
              : first.code == opcode::all_reduce ? p.groups.holders(first.group).size()
                                                 : 1));
    at += size;
  }
  program const q = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}}) | lower();
  noting_machine pairs(q, q.view().lane_count);
  REQUIRE(pairs.run());
  CHECK(pairs.order.size() == q.instructions.size());
  at = 0;
  int found = 0;
  for (std::size_t size : pairs.sizes) {
    if (q.instructions[static_cast<std::size_t>(pairs.order[at])].overlaps_next) {
      ++found;
      CHECK(size == 2);
      CHECK(pairs.order[at + 1] == pairs.order[at] + 1);
    }
    at += size;
  }
  CHECK(found > 0);
}

// An instruction that waits for a missing one waits in no cycle.
TEST_CASE("a receive without its send") {
  program p = one_f_one_b(2, 1) | lower();
  p.instructions[2].code = opcode::release;
  noting_machine machine(p, p.view().lane_count);
  CHECK_FALSE(machine.run());
  CHECK(machine.order == std::vector<int>{0, 1, 2, 6});
  CHECK(machine.cycle().empty());
  diagnosis const d = machine.wait();
  CHECK(d.broken == rule::no_cycle_of_waits);
  CHECK(d.first.device == 0);
  CHECK(d.first.index == 4);  // the backward waits for the receive
  CHECK(d.second.index == 3);
  CHECK(machine.diagnose_cycle(rule::ticks_fit).broken == rule::ticks_fit);
}

// Messages that nobody has to take are sent alone.
class buffered_machine : public lane_machine<buffered_machine> {
 public:
  constexpr explicit buffered_machine(program const& p)
      : lane_machine(p.view(), partners_in_order(p.view()), p.view().lane_count) {}
  constexpr bool is_rendezvous() const { return false; }
  constexpr void happens(int, list_view<int> together) { most = max_of(most, together.size()); }
  std::size_t most = 0;
};

TEST_CASE("without rendezvous both halves of a transfer happen apart") {
  program p = one_f_one_b(2, 1) | lower();
  buffered_machine machine(p);
  CHECK((machine.run() && machine.most == 1));
  p.instructions[3].code = opcode::release;  // what device 1 sends is never received
  CHECK(buffered_machine(p).run());
}

// Device 0 receives, on one lane, what device 1 makes of what device 0 sends after that.
TEST_CASE("a cycle of waits is told by two of its instructions and their number") {
  program p = one_f_one_b(2, 1) | lower();
  std::swap(p.instructions[2], p.instructions[3]);
  noting_machine machine(p, 1);
  CHECK_FALSE(machine.run());
  diagnosis const d = machine.diagnose_cycle(rule::no_cycle_of_waits);
  CHECK((d.broken == rule::no_cycle_of_waits && d.number > 1));
  CHECK((d.first.device != d.second.device || d.first.index != d.second.index));
}

}  // namespace

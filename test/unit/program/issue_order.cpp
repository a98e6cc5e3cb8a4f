#include <ashlar/program/issue_order.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/lower/lower.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("a small program has one order to issue it in") {
  program const p = one_f_one_b(2, 1) | lower();
  // Device 0 does clear, F, send, receive, B, all-reduce; device 1 does clear, receive, F, B, send,
  // all-reduce.
  std::vector<int> const order = issue_order(p.view());
  std::vector<int> where(order.size(), -1);
  for (std::size_t at = 0; at < order.size(); ++at)
    where[static_cast<std::size_t>(order[at])] = static_cast<int>(at);
  CHECK(order.size() == p.instructions.size());
  CHECK((where[1] < where[2] && where[7] == where[2] + 1));
  CHECK((where[3] == where[10] + 1 && where[3] < where[4]));
  CHECK((where[7] < where[8] && where[8] < where[9] && where[9] < where[10]));
}

TEST_CASE("a rendezvous is a pass alone or both halves of a transfer") {
  program const p = one_f_one_b(2, 1) | lower();
  rendezvous_list const all = rendezvous_order(p.view());
  CHECK((all.size() == 10 && all.instructions == issue_order(p.view())));
  int transfers = 0;
  for (int k = 0; k < all.size(); ++k) {
    list_view<int> const together = all.of(k);
    bool const sends = p.instructions[static_cast<std::size_t>(together[0])].code == opcode::send;
    CHECK(together.size() == (sends ? 2 : 1));
    transfers += sends;
  }
  CHECK(transfers == 2);
}

void order_of(program const& p) {
  std::vector<int> const order = issue_order(p.view());
  REQUIRE(order.size() == p.instructions.size());
  std::vector<int> where(order.size(), -1);
  for (std::size_t at = 0; at < order.size(); ++at) {
    REQUIRE(where[static_cast<std::size_t>(order[at])] == -1);
    where[static_cast<std::size_t>(order[at])] = static_cast<int>(at);
  }
  for (int d = 0; d < p.device_count(); ++d) {
    auto const stream = p.view().stream(d);
    int const first = p.stream_begin[static_cast<std::size_t>(d)];
    wait_table const table = waits(p.view(), d, wait_detail::all);
    std::vector<int> lane(static_cast<std::size_t>(p.view().lane_count), -1);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      int const mine = where[static_cast<std::size_t>(first) + i];
      int& before = lane[static_cast<std::size_t>(stream[i].lane)];
      CHECK(before < mine);
      before = mine;
      for (int const other : table.of(static_cast<int>(i)))
        CHECK(where[static_cast<std::size_t>(first + other)] < mine);
    }
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    instruction const& i = p.instructions[static_cast<std::size_t>(order[at])];
    if (i.code == opcode::receive) REQUIRE(at > 0);
    if (i.code != opcode::send) continue;
    instruction const& next = p.instructions[static_cast<std::size_t>(order.at(at + 1))];
    CHECK(next.code == opcode::receive);
    CHECK(next.what == i.what);
    CHECK(next.to == i.to);
  }
  // Replicas reduce in one go.
  for (int stage = 0; stage < p.stage_count(); ++stage) {
    std::vector<int> at;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (p.instructions[i].code == opcode::all_reduce && p.instructions[i].group == stage)
        at.push_back(where[i]);
    if (at.empty()) continue;
    auto const [low, high] = std::minmax_element(at.begin(), at.end());
    CHECK(*high - *low == static_cast<int>(at.size()) - 1);
  }
}

TEST_CASE("an issue order keeps lanes and waits, and what belongs together is adjacent") {
  for (transfer_lanes lanes : {transfer_lanes::one, transfer_lanes::one_a_peer,
                               transfer_lanes::one_a_direction, transfer_lanes::one_a_kind})
    for (catalog_case const& c : catalog_cases({1, 2, 4}, {8}))
      order_of(c.schedule() | lower({.lanes = lanes}));
  for (sharding_level level : {sharding_level::none, sharding_level::full})
    order_of(lower(two_ways(3) | repeat(micro_batches{4}) | squeeze(),
                   {.data_ranks = 2, .sharding = level, .step = optimizer_step::after_norm}));
  order_of(fork_join() | repeat(micro_batches{3}) | lower());
}

TEST_CASE("a program that gets stuck has no issue order") {
  program p = one_f_one_b(2, 2) | lower();
  SUBCASE("devices that send to each other first") {
    // Device 1 reads what it has not received.
    std::swap(p.instructions[static_cast<std::size_t>(p.stream_begin[1])].lane, p.instructions[0].lane);
    for (instruction& i : p.instructions)
      if (i.code == opcode::receive && i.peer == 0) i.peer = 1;
    CHECK_BREAKS(no_cycle_of_waits, issue_order(p.view()));
  }
  SUBCASE("a receive without its send") {
    for (std::size_t i = 0; i < p.instructions.size(); ++i)
      if (p.instructions[i].code == opcode::send) {
        p.instructions[i].code = opcode::release;
        break;
      }
    CHECK_BREAKS(no_cycle_of_waits, issue_order(p.view()));
  }
}

}  // namespace

#include <ashlar/prove/progress.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

constexpr progress_level levels[] = {progress_level::independent_lanes,
                                     progress_level::one_order_per_device, progress_level::one_order};

// A send that nobody receives is the last of the order.
TEST_CASE("an order must not end before a meeting does") {
  program p;
  p.graph = chain(stages{2});
  p.where = linear(devices{2});
  p.route = {0};
  p.groups = parameter_groups(p.where);
  p.instructions = {{.code = opcode::send, .lane = first_transfer_lane, .to = 1, .peer = 1}};
  p.stream_begin = {0, 1, 1};
  p.slot_begin = {0, 0, 0};
  int const order[] = {0};
  diagnosis const d = check_issue_order(p.view(), {order, order + 1});
  CHECK(d.broken == rule::those_that_meet_are_issued_together);
  CHECK((d.first.device == 0 && d.first.index == 0 && d.second.device < 0));
}

// Device 0 does clear, F, send, receive, B, all-reduce; device 1 does clear, receive, F, B, send,
// all-reduce.
constexpr std::vector<int> order_of_two() { return {0, 1, 2, 7, 6, 8, 9, 10, 3, 4, 5, 11}; }

TEST_CASE("an order that one thread may issue in, and what breaks it") {
  program const p = one_f_one_b(2, 1) | lower();
  auto const judge = [&](std::vector<int> const& order) {
    return check_issue_order(p.view(), view_of(order));
  };
  auto const swapped = [](std::size_t i, std::size_t j) {
    std::vector<int> order = order_of_two();
    std::swap(order[i], order[j]);
    return order;
  };
  CHECK(judge(order_of_two()).ok());
  CHECK(judge(swapped(2, 3)).ok());    // the receive of the two first
  CHECK(judge(swapped(10, 11)).ok());  // independent
  CHECK(judge(issue_order(p.view())).ok());

  // This breaks a lane (the clear after the forward) and a wait (the send before its forward).
  diagnosis d = judge(swapped(0, 1));
  CHECK((d.broken == rule::lanes_keep_their_order && d.first.index == 1 && d.second.index == 0));
  d = judge({0, 2, 7, 1, 6, 8, 9, 10, 3, 4, 5, 11});
  CHECK(d.broken == rule::nothing_is_issued_before_what_it_waits_for);
  CHECK((d.first.device == 0 && d.first.index == 2 && d.second.index == 1));
  // A receive comes after the pass that reads it.
  d = judge({0, 1, 2, 6, 8, 7, 9, 10, 3, 4, 5, 11});
  CHECK(d.broken == rule::nothing_is_issued_before_what_it_waits_for);
  CHECK((d.first.device == 1 && d.first.index == 2 && d.second.index == 1));

  // A transfer is torn apart, and nothing follows one.
  d = judge(swapped(3, 4));
  CHECK(d.broken == rule::those_that_meet_are_issued_together);
  CHECK((d.first.device == 0 && d.first.index == 2 && d.second.device == 1 && d.second.index == 0));

  std::vector<int> order = order_of_two();
  order.pop_back();
  d = judge(order);
  CHECK((d.broken == rule::every_instruction_is_issued_once && d.number == 0));
  CHECK((d.first.device == 1 && d.first.index == 5));
  order.push_back(5);
  d = judge(order);
  CHECK((d.broken == rule::every_instruction_is_issued_once && d.number == 2));
  CHECK((d.first.device == 0 && d.first.index == 5));
  for (int wrong : {-1, 12}) {
    order.back() = wrong;
    d = judge(order);
    CHECK((d.broken == rule::every_instruction_is_issued_once && d.number == wrong));
    CHECK(d.first.device == -1);
  }
}

// Each of two devices sums the gradients of both stages with the other.
constexpr program replicas() { return two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower(); }

TEST_CASE("the members of a collective are issued together") {
  program const p = replicas();
  std::vector<int> order = issue_order(p.view());
  CHECK(check_issue_order(p.view(), view_of(order)).ok());
  std::size_t const count = order.size();
  CHECK(p.instructions[static_cast<std::size_t>(order[count - 1])].code == opcode::all_reduce);
  CHECK(p.instructions[static_cast<std::size_t>(order[count - 2])].code == opcode::all_reduce);
  std::swap(order[count - 1], order[count - 2]);  // of one group
  CHECK(check_issue_order(p.view(), view_of(order)).ok());
  // The first member of the last group comes before the instruction that stood in front of it.
  std::swap(order[count - 2], order[count - 3]);
  diagnosis const d = check_issue_order(p.view(), view_of(order));
  CHECK(d.broken == rule::those_that_meet_are_issued_together);
  CHECK((d.first.code == opcode::all_reduce && d.first.what.stage != d.second.what.stage));
}

// Device 0 reduces before it sends what device 1 has to receive before it reduces. Its lanes do not
// mind.
constexpr program reduces_first() {
  program p = replicas();
  int send = -1;
  for (int i = 0; i < length(p, 0); ++i)
    if (at(p, 0, i).code == opcode::send) send = i;
  move(p, 0, send, send + 1);
  return p;
}

TEST_CASE("lanes that advance where a blocking stream does not") {
  program const p = reduces_first();
  CHECK(check_progress(p.view(), progress_level::independent_lanes).ok());
  CHECK(check_progress(p.view(), progress_level::one_order).ok());
  diagnosis const d = check_progress(p.view(), progress_level::one_order_per_device);
  CHECK((d.broken == rule::streams_do_not_block_each_other && d.number == 4));
  CHECK((d.first.device != d.second.device || d.first.index > d.second.index));
  program const whole = replicas();
  for (progress_level level : levels) CHECK(check_progress(whole.view(), level).ok());
}

TEST_CASE("what is stuck on lanes is stuck on every level") {
  program p = one_f_one_b(2, 2) | lower();
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  for (progress_level level : levels) {
    diagnosis const d = check_progress(p.view(), level);
    CHECK(d.broken
          == (level == progress_level::one_order_per_device ? rule::streams_do_not_block_each_other
                                                            : rule::no_cycle_of_waits));
    CHECK((d.first.device >= 0 && d.second.device >= 0));
  }
}

// The passes of an overlapped pair, and what both wait for.
TEST_CASE("an overlapped pair is issued as one") {
  program const p = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}}) | lower();
  std::vector<int> const good = issue_order(p.view());
  REQUIRE(check_issue_order(p.view(), view_of(good)).ok());
  int torn = 0;
  for (std::size_t k = 0; k + 2 < good.size(); ++k) {
    if (!p.instructions[static_cast<std::size_t>(good[k])].overlaps_next) continue;
    for (std::size_t j = k + 2; j < good.size(); ++j) {  // put in between
      std::vector<int> order = good;
      auto const from = order.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                 to = order.begin() + static_cast<std::ptrdiff_t>(j);
      std::rotate(from, to, to + 1);
      diagnosis const d = check_issue_order(p.view(), view_of(order));
      CHECK_FALSE(d.ok());
      torn += d.broken == rule::those_that_meet_are_issued_together;
    }
  }
  CHECK(torn > 0);
}

TEST_CASE("every program of the catalog is proved for every level") {
  for (transfer_lanes lanes : {transfer_lanes::one, transfer_lanes::one_a_peer})
    for (catalog_case const& c : catalog_cases({1, 2, 4}, {8}))
      for (sharding_level sharding : {sharding_level::none, sharding_level::full}) {
        program const made = c.schedule()
                             | lower({.lanes = lanes,
                                      .data_ranks = 2,
                                      .sharding = sharding,
                                      .step = optimizer_step::after_norm});
        CAPTURE(c);
        for (progress_level level : levels) CHECK(check_progress(made.view(), level).ok());
      }
  program const graph = fork_join() | repeat(micro_batches{3}) | lower();
  for (progress_level level : levels) CHECK(check_progress(graph.view(), level).ok());
}

}  // namespace

#include <ashlar/program/hazards.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("a send waits for its pass, a pass for its receive") {
  program const p = one_f_one_b(2, 1) | lower();
  wait_table const w = waits(p.view(), 0);  // clear, F, send, receive, B, all-reduce
  CHECK((w.of(0).empty() && w.of(1).empty()));
  CHECK((w.of(2).size() == 1 && w.of(2)[0] == 1));
  CHECK(w.of(3).empty());
  CHECK((w.of(4).size() == 1 && w.of(4)[0] == 3));
  CHECK(w.of(5).empty());  // on the lane of what it waits for
}

// Where a lane may end in any order, a pass on a chunk waits for that on the chunk before it.
TEST_CASE("a chunk waits for the chunk before it") {
  auto const on_forward = [](program const& p, bool within_lanes) {
    program_view const v = p.view();
    wait_table const w = waits(v, 0, within_lanes ? wait_detail::all : wait_detail::last_of_a_lane);
    int first = -1;
    for (int i = 0; i < static_cast<int>(v.stream(0).size()); ++i) {
      instruction const& self = v.stream(0)[static_cast<std::size_t>(i)];
      if (self.code != opcode::compute || self.what.kind != F) continue;
      if (self.what.micro_batch == 0) first = i;
      if (self.what.micro_batch != 1) continue;
      for (int on : w.of(i))
        if (on == first) return true;
    }
    return false;
  };
  program const chunks =
      catalog::seq1f1b(devices{1}, 2) | repeat(micro_batches{2}) | squeeze() | lower();
  CHECK((on_forward(chunks, true) && !on_forward(chunks, false)));
  program const apart = catalog::find("gpipe")->make({devices{1}, micro_batches{2}}) | lower();
  CHECK(!on_forward(apart, true));
}

// Whether two instructions of a device cannot be exchanged: they share a slot and one of them changes
// it.
bool conflict(program_view const& p, instruction const& a, instruction const& b) {
  for (operand const& x : p.operands_of(a))
    for (operand const& y : p.operands_of(b))
      if (x.slot == y.slot && (x.how != access::read || y.how != access::read)) return true;
  return false;
}

// This much is left of the order of passes: of a kind and stage, around what keeps its place, and
// wherever two share a slot that one of them changes.
TEST_CASE("passes in any order wait for what must come before them, and for nothing later") {
  for (catalog_case const& c : catalog_cases({2, 3}, {4})) {
    program const p = c.schedule() | lower();
    program_view const view = p.view();
    for (int d = 0; d < p.device_count(); ++d) {
      auto const stream = view.stream(d);
      wait_table const table = waits(view, d, wait_detail::any_pass_order);
      std::size_t const n = stream.size();
      std::vector<std::vector<char>> after(n, std::vector<char>(n, 0));
      for (std::size_t i = 0; i < n; ++i)
        for (int const on : table.of(static_cast<int>(i))) {
          auto const j = static_cast<std::size_t>(on);
          CHECK(j < i);
          after[i][j] = 1;
          for (std::size_t k = 0; k < j; ++k) after[i][k] = after[i][k] != 0 || after[j][k] != 0;
        }
      auto const is_needed = [&](instruction const& a, instruction const& b) {
        bool const passes = a.lane == compute_lane && b.lane == compute_lane;
        return conflict(view, a, b) || (passes && (!may_go_ahead(a) || !may_go_ahead(b)))
               || (passes && a.what.kind == b.what.kind && a.what.stage == b.what.stage);
      };
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j)
          if (is_needed(stream[j], stream[i])) CHECK(after[i][j] != 0);
        for (int const on : table.of(static_cast<int>(i)))
          CHECK(is_needed(stream[static_cast<std::size_t>(on)], stream[i]));
      }
    }
  }
}

// Every conflict between lanes is ordered by lanes and waits, and no wait is for nothing.
void look_at(program const& p) {
  program_view const view = p.view();
  for (int d = 0; d < p.device_count(); ++d) {
    auto const stream = view.stream(d);
    wait_table const table = waits(view, d);
    auto const n = stream.size();
    std::vector<std::vector<bool>> after(n, std::vector<bool>(n, false));
    for (std::size_t i = 0; i < n; ++i) {
      auto const follow = [&](std::size_t j) {
        after[i][j] = true;
        for (std::size_t k = 0; k < j; ++k)
          if (after[j][k]) after[i][k] = true;
      };
      for (std::size_t j = i; j-- > 0;)
        if (stream[j].lane == stream[i].lane) {
          follow(j);
          break;
        }
      std::vector<int> lanes;
      for (int w : table.of(static_cast<int>(i))) {
        auto const j = static_cast<std::size_t>(w);
        REQUIRE(j < i);
        CHECK(stream[j].lane != stream[i].lane);
        CHECK(conflict(view, stream[j], stream[i]));
        CHECK(std::find(lanes.begin(), lanes.end(), stream[j].lane) == lanes.end());
        lanes.push_back(stream[j].lane);
        follow(j);
      }
      for (std::size_t j = 0; j < i; ++j)
        if (conflict(view, stream[j], stream[i])) REQUIRE(after[i][j]);
    }
  }
}

TEST_CASE("lanes and waits order every conflict") {
  for (transfer_lanes lanes : {transfer_lanes::one, transfer_lanes::one_a_peer,
                               transfer_lanes::one_a_direction, transfer_lanes::one_a_kind})
    for (int p = 1; p <= 4; ++p) {
      for (catalog_case const& c : catalog_cases({p}, {4}, costs(stage_cost{}, 1))) {
        look_at(c.schedule() | lower({.lanes = lanes}));
        if (!c.has_block() || c.is("1f1b-recompute")) continue;
        block const b = c.block();
        if (c.shape.m.value % b.micro_batch_count() != 0) continue;
        look_at(recompute(b) | repeat(c.shape.m) | squeeze() | lower({.lanes = lanes}));
      }
      look_at(two_ways(p) | repeat(micro_batches{4}) | squeeze() | lower({.lanes = lanes}));
      look_at(fork_join() | repeat(micro_batches{p}) | lower({.lanes = lanes}));
    }
}

}  // namespace

// Overlapped pairs on all floors: one slot of time, both parts' inputs there at its start, both results
// at its end.
#include "mutate.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/wait_cycle.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <tuple>
#include <vector>

using namespace shapes;

namespace {

// A schedule of two devices and two micro-batches: 0F0 0F1 0B0 0B1 and 1F0 1B0 1F1 1B1.
constexpr schedule two_devices() { return one_f_one_b(2, 2); }

// The pair of 1B0 and 1F1 the other way about: 1F0, (1F1; 1B0), 1B1.
constexpr schedule one_pair(tick overlapped) {
  schedule s = two_devices();
  std::swap(s.order[1][1], s.order[1][2]);
  pair_up(s, 1, 1);
  s.cost.passes.overlapped = overlapped;
  return squeeze(s);
}

TEST_CASE("a pair starts when both can and ends as one") {
  schedule const s = one_pair(2);  // passes of 1, 1 + 1; the pair of 2
  CHECK(check(s).ok());
  CHECK(s.order[1][0].start == 1);
  CHECK(s.order[1][1].start == 2);  // when 0F1 has ended
  CHECK(s.end_of(s.order[1][1], 1) == 4);
  CHECK(s.order[0][2].start == 4);  // 0B0 gets its gradient when the pair ends
  CHECK(s.order[1][2].start == 4);
  CHECK((squeeze(s) == s && makespan(s) == 8));
  schedule const in_turn = one_pair(pass_costs::one_after_the_other);
  CHECK(in_turn.end_of(in_turn.order[1][1], 1) == 5);
  CHECK(makespan(in_turn) == 9);
  costs slow = s.cost;
  slow.on.links.inside.latency = 10;
  schedule const far = retime(s, slow);
  CHECK(far.order[1][1].start == 12);  // both wait for what the later of the two needs
  CHECK(check(far).ok());
}

TEST_CASE("a pair is busy once and holds what both hold") {
  schedule const s = one_pair(2);
  CHECK(busy(s) == std::vector<tick>{6, 5});  // 1 + 2 + 2
  CHECK(peak_activations(s) == std::vector<int>{2, 2});
  CHECK((makespan(s) == 8 && span(s) == 8));
  CHECK(peak_activations(two_devices()) == std::vector<int>{2, 1});  // apart the backward frees first
}

constexpr rule broken_in(schedule const& s) { return check(s).broken; }

TEST_CASE("what is no pair") {
  constexpr rule pair_rule = rule::overlapped_passes_are_a_pair;
  schedule const good = one_pair(3);
  schedule s = good;
  std::swap(s.order[1][1].what, s.order[1][1].beside);  // the backward first: it would be alone
  CHECK((broken_in(s) == rule::every_pass_is_present && check(s).first.what == pass{F, 1, 1}));
  s = good;
  s.order[1].back().beside = {B, 1, 0};  // beside a backward
  CHECK((broken_in(s) == pair_rule && check(s).first.device == 1 && check(s).first.index == 2));
  for (pass_kind const kind : {R, X, static_cast<pass_kind>(77)}) {  // no backward
    s = good;
    s.order[1][1].beside.kind = kind;
    CHECK((broken_in(s) == pair_rule && check(s).first.index == 1));
    CHECK_BREAKS(overlapped_passes_are_a_pair, squeeze(s));
    CHECK_BREAKS(overlapped_passes_are_a_pair, must_have_form(s));
  }
  s = good;
  s.order[1][1].beside.stage = 0;  // of another device
  CHECK((broken_in(s) == rule::pass_is_on_its_device && check(s).first.what == pass{B, 0, 0}));
  s = good;
  s.order[1][0].beside = {B, 1, 0};  // a second time
  CHECK((broken_in(s) == rule::no_pass_is_doubled && check(s).first.index == 1));
  CHECK_BREAKS(no_pass_is_doubled, squeeze(s));
  s = good;
  s.order[1][1].beside.micro_batch = 2;
  CHECK((broken_in(s) == rule::every_pass_is_known && check(s).first.what == pass{B, 1, 2}));
  CHECK_BREAKS(every_pass_is_known, squeeze(s));
}

// A forward beside an input pass and beside a weight pass, each with a time of its own.
TEST_CASE("split backwards in pairs") {
  for (pass_kind const kind : {I, W}) {
    schedule s = catalog::zb_h1(devices{2}) | repeat(micro_batches{6}) | squeeze();
    s.cost.passes.overlapped = pair_costs::by_stage({9, 5, 4}, 1);  // longer than both: it shows
    int pairs = 0;
    for (std::size_t d = 0; d < 2; ++d)
      for (std::size_t i = 0; i + 1 < s.order[d].size(); ++i) {
        schedule tried = s;
        time_slot &first = tried.order[d][i], &second = tried.order[d][i + 1];
        if (second.what.kind == F && first.what.kind == kind) std::swap(first, second);
        if (first.is_pair() || first.what.kind != F || second.what.kind != kind) continue;
        pair_up(tried, d, i);
        if (!order_walk(tried).run().ok()) continue;  // one needs what the other makes
        s = tried;
        ++pairs;
      }
    REQUIRE(pairs > 3);
    s = squeeze(s);
    REQUIRE(check(s).ok());
    tick const own = kind == I ? 5 : 4;
    for (std::size_t d = 0; d < 2; ++d)
      for (time_slot const& t : s.order[d])
        if (t.is_pair()) CHECK(s.end_of(t, static_cast<int>(d)) - t.start == own);
    CHECK(squeeze(s) == s);
    workload const w = workload_of(s);
    CHECK((w.overlaps && w.overlaps_split));
    CHECK(workload_bound(w).makespan <= makespan(s));
    program const p = lower(s);
    CHECK(check(p).ok());
    int in_program = 0;
    for (instruction const& i : p.instructions) in_program += i.overlaps_next;
    CHECK(in_program == pairs);
    CHECK(time_program(p, {.cost = s.cost}).makespan == makespan(s));
    // Each pair is apart in inference of starts, too.
    schedule again = s;
    for (auto& order : again.order) order = without_pairs(order);
    find_pairs(again);
    CHECK(again == s);
  }
}

TEST_CASE("squeeze refuses what is no pair, or a pair that depends on itself") {
  schedule s = two_devices();
  s.order[1][1].beside = {B, 1, 1};  // 1B0 and 1B1
  CHECK_BREAKS(overlapped_passes_are_a_pair, squeeze(s));
  s = two_devices();
  pair_up(s, 1, 0);  // 1F0 and 1B0
  CHECK_BREAKS(order_has_no_cycle, squeeze(s));
  CHECK(check(s).broken == rule::no_pass_starts_before_its_input);
}

TEST_CASE("a pair of which only one micro-batch is taken is a pair no more") {
  schedule const s = take(one_pair(3), micro_batches{1});
  for (auto const& order : s.order)
    for (time_slot const& t : order) CHECK(!t.is_pair());
  CHECK(check(s).ok());
  CHECK(take(one_pair(3), micro_batches{2}) == one_pair(3));
}

TEST_CASE("a pair stands together in the stream, on slots of its own") {
  program const p = one_pair(2) | lower();
  CHECK(check(p).ok());
  program_view const v = p.view();
  int pairs = 0;
  for (int d = 0; d < p.device_count(); ++d) {
    list_view<instruction> const stream = v.stream(d);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (!stream[i].overlaps_next) continue;
      ++pairs;
      CHECK((d == 1 && stream[i].what == pass{F, 1, 1} && stream[i + 1].what == pass{B, 1, 0}));
      // Neither pass writes what the other uses, not even for a moment.
      for (operand const& a : v.operands_of(stream[i]))
        for (operand const& b : v.operands_of(stream[i + 1])) CHECK(a.slot != b.slot);
    }
  }
  CHECK(pairs == 1);
  CHECK(count_slots(v, 1, slot_kind::stash) == 2);
  program const apart = two_devices() | lower();
  CHECK(count_slots(apart.view(), 1, slot_kind::stash) == 1);
}

TEST_CASE("programs in which a pair is none") {
  using namespace mutate;
  constexpr rule pair_rule = rule::overlapped_passes_are_a_pair;
  program const good = one_pair(2) | lower();
  program p = good;
  int const ahead = find(p, 1, opcode::compute, {F, 1, 1}), back = ahead + 1;
  CHECK((at(p, 1, ahead).overlaps_next && at(p, 1, back).what == pass{B, 1, 0}));
  at(p, 1, ahead).overlaps_next = false;
  CHECK(check(p).ok());  // one after the other it works, too
  p = good;
  at(p, 1, back).overlaps_next = true;
  CHECK(check(p).broken == pair_rule);
  p = good;
  exchange(p, 1, ahead, back);  // the mark now stands after the forward
  CHECK(check(p).broken == pair_rule);
  p = good;
  at(p, 1, length(p, 1) - 1).overlaps_next = true;  // nothing follows
  CHECK(check(p).broken == pair_rule);
  p = good;
  at(p, 0, find(p, 0, opcode::send, {F, 0, 0})).overlaps_next = true;  // no compute
  CHECK(check(p).broken == pair_rule);
  // The forward's stash is in the slot that the backward reads.
  p = good;
  auto const operand_of = [&](int i, ashlar::access how, slot_kind kind) -> operand& {
    instruction const self = at(p, 1, i);
    for (int o = self.first_operand; o < self.first_operand + self.operand_count; ++o) {
      operand& found = p.operands[static_cast<std::size_t>(o)];
      if (found.how == how && p.view().slots_of(1).begin()[found.slot] == kind) return found;
    }
    throw violation{{.broken = rule::tables_agree}};
  };
  operand_of(ahead, access::write, slot_kind::stash).slot =
      operand_of(back, access::read, slot_kind::stash).slot;
  CHECK((check(p).broken == pair_rule && check(p).first.index == ahead));
}

// Three devices and three micro-batches, each over two of them: from 1 to 2, from 1 to 0, from 2 to 0.
// Device 1 ends with 0F0 and 0B1. For the gradient of micro-batch 1 device 0 has to see micro-batch 2
// first, for which device 2 has to see micro-batch 0, which device 1 has not sent before 0F0 has ended.
constexpr schedule ring() {
  placement const where(devices{3}, {{1, 2}, {1, 0}, {2, 0}});
  return squeeze(schedule_from_orders(where, {0, 1, 2}, costs{},
                                      {{{F, 1, 2}, {F, 1, 1}, {B, 1, 1}, {B, 1, 2}},
                                       {{F, 0, 1}, {F, 0, 0}, {B, 0, 1}, {B, 0, 0}},
                                       {{F, 1, 0}, {F, 0, 2}, {B, 1, 0}, {B, 0, 2}}}));
}

TEST_CASE("what is possible one after the other, and not as a pair") {
  schedule s = ring();
  CHECK(check(s).ok());
  program p = lower(s, {.lanes = transfer_lanes::one_a_peer});
  int const ahead = mutate::find(p, 1, opcode::compute, {F, 0, 0});
  mutate::move(p, 1, mutate::find(p, 1, opcode::compute, {B, 0, 1}),
               ahead + 1);  // ahead of the receive of its gradient
  mutate::move(p, 1, mutate::find(p, 1, opcode::receive, {B, 1, 1}), ahead);
  REQUIRE(mutate::at(p, 1, ahead + 1).what == pass{F, 0, 0});
  REQUIRE(mutate::at(p, 1, ahead + 2).what == pass{B, 0, 1});
  CHECK(check(p).ok());
  mutate::at(p, 1, ahead + 1).overlaps_next = true;
  CHECK(check(p).broken == rule::no_cycle_of_waits);
  std::vector<site> const circle = find_wait_cycle(p);
  CHECK(circle.size() >= 4);
  bool through_pair = false;
  for (site const& x : circle)
    through_pair = through_pair || (x.device == 1 && x.code == opcode::compute);
  CHECK(through_pair);

  pair_up(s, 1, 1);
  CHECK_BREAKS(order_has_no_cycle, squeeze(s));
}

TEST_CASE("pairs of the catalog on every floor") {
  for (char const* name : {"dualpipe", "dualpipev", "stp"})
    for (tick overlapped : {tick{2}, tick{3}, tick{7}})
      for (transfer_lanes lanes :
           {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction}) {
        costs cost(stage_cost{}, 1);
        cost.passes.overlapped = overlapped;
        schedule const s = catalog::find(name)->make({devices{4}, micro_batches{12}, cost});
        program const p = lower(s, {.lanes = lanes});
        CHECK(check(p).ok());
        int in_schedule = 0, in_program = 0;
        for (auto const& order : s.order)
          for (time_slot const& t : order) in_schedule += t.is_pair();
        for (instruction const& i : p.instructions) in_program += i.overlaps_next;
        CHECK(in_schedule == in_program);
        CHECK(in_schedule > 10);
      }
}

}  // namespace

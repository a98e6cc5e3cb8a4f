#include <ashlar/lower/lower.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "live_values.hpp"
#include "mutate.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <string_view>
#include <vector>

using namespace shapes;

namespace {

constexpr std::vector<pass> passes_computed_by(program const& p, int device) {
  std::vector<pass> found;
  for (instruction const& i : p.view().stream(device))
    if (i.code == opcode::compute) found.push_back(i.what);
  return found;
}

constexpr bool keeps_order(schedule const& s, program const& p) {
  for (int d = 0; d < s.device_count(); ++d) {
    std::vector<pass> order;
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)])) order.push_back(t.what);
    if (passes_computed_by(p, d) != order) return false;
  }
  return true;
}

TEST_CASE("the program of one micro-batch") {
  program const p = one_f_one_b(2, 1) | lower();
  auto const is = [&](int device, std::size_t at, opcode code, pass what) {
    instruction const& i = p.view().stream(device)[at];
    return i.code == code && i.what == what;
  };
  CHECK((p.view().stream(0).size() == 6 && p.view().stream(1).size() == 6));
  CHECK(is(0, 0, opcode::clear, {W, 0, 0}));
  CHECK((is(0, 1, opcode::compute, {F, 0, 0}) && is(0, 2, opcode::send, {F, 0, 0})));
  CHECK((is(0, 3, opcode::receive, {B, 1, 0}) && is(0, 4, opcode::compute, {B, 0, 0})));
  CHECK(is(0, 5, opcode::all_reduce, {W, 0, 0}));
  CHECK((is(1, 1, opcode::receive, {F, 0, 0}) && is(1, 2, opcode::compute, {F, 1, 0})));
  CHECK(is(1, 3, opcode::compute, {B, 1, 0}));
  CHECK(check(p).ok());
}

constexpr bool is_lowered(schedule const& s, transfer_lanes lanes = transfer_lanes::one) {
  program const p = s | lower({.lanes = lanes});
  return keeps_order(s, p) && check(p).ok();
}

TEST_CASE("forks and joins") {
  CHECK(is_lowered(fork_join() | repeat(micro_batches{2})));
  CHECK(is_lowered(split_backward(fork_join()) | repeat(micro_batches{1}) | squeeze()));
  CHECK(is_lowered(fork_join() | repeat(micro_batches{1}), transfer_lanes::one_a_peer));
}

TEST_CASE("two routes, recomputes, work") {
  CHECK(is_lowered(two_ways(2) | repeat(micro_batches{2}) | squeeze()));
  CHECK(is_lowered(two_ways(2) | repeat(micro_batches{2}) | squeeze(), transfer_lanes::one_a_peer));
  CHECK(is_lowered(recomputed(2) | repeat(micro_batches{2})));
  CHECK(is_lowered(with_work(one_f_one_b(2, 2))));
}

TEST_CASE("replicas reduce in the order of the routes") {
  program const p = two_ways(3) | repeat(micro_batches{2}) | squeeze() | lower();
  for (int d = 0; d < 3; ++d)
    for (instruction const& i : p.view().stream(d)) {
      if (i.code != opcode::all_reduce) continue;
      bool const alone = i.what.stage == 1;  // both routes have stage 1 on device 1
      CHECK(i.lane == (alone ? compute_lane : p.collective_lane()));
      CHECK(i.group == i.what.stage);
      CHECK(p.groups.member_of(i.group, d) == (d == i.what.stage ? 0 : 1));  // the first route's first
    }
}

TEST_CASE("one device has nobody to talk to") {
  program const p = one_f_one_b(1, 3) | lower();
  CHECK((p.instructions.size() == 8 && p.instructions.back().code == opcode::all_reduce));
  CHECK(check(p).ok());
  CHECK(check(catalog::find("v-half")->make({devices{1}, micro_batches{2}}) | lower()).ok());
}

TEST_CASE("a schedule may begin at any time") {
  schedule const s = one_f_one_b(2, 3);
  CHECK((s | shift(-10) | lower()) == lower(s));
  CHECK((s | shift(20) | lower()) == lower(s));
}

TEST_CASE("long before or after") {
  schedule const s = one_f_one_b(4, 8);
  CHECK((s | shift(-1'000'000) | lower()) == lower(s));
  CHECK((s | shift(1'000'000) | lower()) == lower(s));
}

// Two stages of one device read what a third makes on another: it is sent there once.
TEST_CASE("an activation goes to a device once") {
  stage_graph const fork(stages{3}, {{0, 1}, {0, 2}});
  placement const where(devices{2}, {{0, 1, 1}});
  block const b = make_block(where, {}, 9, {F, B},
                             [](pass_kind kind, int s) { return tick{kind == F ? s : 8 - 2 * s}; })
                  | with_graph(fork);
  program const p = b | repeat(micro_batches{2}) | squeeze() | lower();
  int sends = 0, reads = 0;
  for (instruction const& i : p.view().stream(0)) sends += i.code == opcode::send && i.what.kind == F;
  for (instruction const& i : p.view().stream(1))
    for (operand const& o : p.view().operands_of(i))
      reads += i.code == opcode::compute && i.what.kind == F && o.how == access::read;
  CHECK((sends == 2 && reads == 4));
  CHECK(check(p).ok());
}

TEST_CASE("tied parameters are summed over the devices that use them") {
  schedule const s = one_f_one_b(3, 2);
  program const p = lower(s, {.step = optimizer_step::after_norm, .shared_parameters = {{0, 2}}});
  CHECK(check(p).ok());
  CHECK(count_slots(p.view(), 0, slot_kind::weight_gradient) == 2);
  CHECK(count_slots(p.view(), 1, slot_kind::weight_gradient) == 1);
  int reduced = 0;
  for (instruction const& i : p.instructions)
    reduced += i.code == opcode::all_reduce && i.group == 3 && i.lane == p.collective_lane();
  CHECK(reduced == 2);
}

TEST_CASE("slots are as many as values are alive at once") {
  std::vector<schedule> all;
  for (int p = 1; p <= 5; ++p)
    for (int m : {1, 2, 6}) {
      catalog::shape const shape{devices{p}, micro_batches{m}};
      for (catalog_case const& c : catalog_cases({p}, {m})) {
        all.push_back(c.schedule());
        if (!c.has_block()) continue;
        block const b = c.block();
        if (m % b.micro_batch_count() != 0) continue;
        all.push_back(b | repeat(shape.m));
        all.push_back(retime(all.back(), costs({.forward = 3, .backward_input = 2}, 2)));
        if (c.is("1f1b-recompute") || b.mode == execution_mode::inference) continue;
        all.push_back(recompute(b) | repeat(shape.m) | squeeze());
      }
      all.push_back(recomputed(p) | repeat(shape.m));
      all.push_back(with_work(all.back()));
      if (m % 2 == 0) all.push_back(two_ways(p) | repeat(shape.m) | squeeze());
      all.push_back(fork_join() | repeat(shape.m));
      all.push_back(split_backward(fork_join()) | repeat(shape.m) | squeeze());
    }
  for (schedule const& s : all) {
    program const p = lower(s);
    REQUIRE(check(p).ok());
    live_values const values(s);
    for (int d = 0; d < s.device_count(); ++d)
      for (int kind = 0; kind < slot_kinds; ++kind) {
        CAPTURE(s.stage_count());
        CAPTURE(s.micro_batch_count());
        CAPTURE(s.cost.transfer(0, 1));
        CAPTURE(d);
        CAPTURE(kind);
        auto const k = static_cast<slot_kind>(kind);
        REQUIRE(count_slots(p.view(), d, k) == values.most(d, k));
      }
  }
}

TEST_CASE("only valid schedules have a program") {
  schedule s = one_f_one_b(2, 2);
  --s.order[0][2].start;
  CHECK_BREAKS(no_pass_starts_before_its_input, lower(s));
  s.order[0].pop_back();
  CHECK_BREAKS(every_pass_is_present, lower(s));
  CHECK_BREAKS(counts_are_positive, lower(schedule{}));
}

TEST_CASE("ticks do not change a program") {
  for (int p = 1; p <= 6; ++p)
    for (char const* name : {"gpipe", "1f1b", "zb-h1", "v-half"}) {
      catalog::shape const shape{devices{p}, micro_batches{5}};
      block const b = catalog::find(name)->block_of(shape);
      CHECK((b | repeat(shape.m) | squeeze() | lower())
            == (b | scale(1'000'003) | repeat(shape.m) | squeeze() | lower()));
    }
}

// Stage 0 feeds stage 1 beside it and stage 2 far away. Its send is listed first and ends last.
TEST_CASE("a slot is held until the latest of its readers has ended") {
  block const b =
      with_graph(make_block(placement(devices{2}, {{0, 0, 1}}), costs(stage_cost{}, 100), 10, {F, B},
                            [](pass_kind kind, int stage) {
                              return kind == F ? tick{stage == 2 ? 101 : stage}
                                               : tick{stage == 0 ? 300 : 104 + stage};
                            }),
                 stage_graph(stages{3}, {{0, 1}, {0, 2}}));
  schedule const s = b | repeat(micro_batches{3});
  CHECK(check(s).ok());
  program const p = lower(s);
  CHECK((check(p).ok() && count_slots(p.view(), 0, slot_kind::activation) == 3));
}

TEST_CASE("work and its sums have their place in the streams") {
  program const p = with_norm(one_f_one_b(2, 2)) | lower();
  CHECK((check(p).ok() && p.work == with_norm(one_f_one_b(2, 2)).work));
  int const sum = mutate::find(p, 0, opcode::all_reduce, {X, 1, 0});
  program copy = p;
  instruction const& i = mutate::at(copy, 0, sum);
  CHECK((i.lane == p.collective_lane() && i.subject == slot_kind::work && i.operand_count == 1));
  CHECK((i.group == group_of_job(p, 1) && all_reduce_count(p) == i.group + 2));
  CHECK((member_count(p, i.group) == 2 && member_count(p, 0) == 1));
  // The norm is measured after B0 and summed before the last part reads it in the same slot.
  int const measured = mutate::find(p, 0, opcode::compute, {X, 0, 0}),
            read = mutate::find(p, 0, opcode::compute, {X, 2, 0});
  CHECK((measured < sum && sum < read));
  int const slot = mutate::operand_of(copy, 0, sum, 0).slot;
  CHECK(mutate::operand_of(copy, 0, measured, 1) == (operand{slot, access::write}));
  CHECK(mutate::operand_of(copy, 0, read, 1) == (operand{slot, access::read}));
  // It holds for the transfer order of frameworks, too.
  CHECK(check(with_norm(one_f_one_b(2, 2)) | lower({.transfers = transfer_order::asap})).ok());
  CHECK(check(with_norm(one_f_one_b(2, 2)) | lower({.slots = slot_reuse::never})).ok());
}

// The first job takes the gradient of each micro-batch, the second reads it at once or after the last.
TEST_CASE("a taken gradient has a slot until it is read") {
  int const m = 5;
  std::vector<work_part> const parts(m, work_part{0, 1});
  for (bool const at_once : {true, false}) {
    schedule s = one_f_one_b(1, m);
    s.work = work_graph(
        {{.parts = parts, .does = compute_job{.gradient = take_gradient{0}}},
         {.parts = parts, .does = compute_job{.state = own_state{}, .gradient = read_gradient{0}}},
         {.parts = {{0, 1}},
          .does = compute_job{.state = shared_state{1}, .gradient = give_gradient{0}}}},
        {});
    std::vector<pass> order;
    for (int k = 0; k < m; ++k) {
      order.insert(order.end(), {{F, 0, k}, {B, 0, k}, {X, 0, k}});
      if (at_once) order.push_back({X, 1, k});
    }
    for (int k = 0; k < m && !at_once; ++k) order.push_back({X, 1, k});
    order.push_back({X, 2, 0});
    s.order[0].clear();
    tick now = 0;
    for (pass const& each : order) {
      s.order[0].push_back({each, now});
      now += each.kind == B ? 2 : 1;
    }
    program const p = lower(s);
    CHECK(check(p).ok());
    CHECK(count_slots(p.view(), 0, slot_kind::micro_gradient) == (at_once ? 1 : m));
  }
}

template <class Builder>
concept shows_its_passes = requires(Builder b) {
  b.at(0);
};
static_assert(!shows_its_passes<collective_order_builder>);

TEST_CASE("work takes no gradient that ranks keep in shards, or that stages have in common") {
  schedule s = one_f_one_b(1, 1);
  s.work = work_graph({{.parts = {{0, 1}}, .does = compute_job{.gradient = take_gradient{0}}},
                       {.parts = {{0, 1}}, .does = compute_job{.gradient = give_gradient{0}}}},
                      {});
  s.order[0].push_back({{X, 0, 0}, makespan(s)});
  s.order[0].push_back({{X, 1, 0}, makespan(s)});
  CHECK(check(lower(s)).ok());
  CHECK_BREAKS(taken_gradient_is_whole, lower(s, {.sharding = sharding_level::full}));
}

// The second part of the work begins when the first has ended, which is in range beside it alone.
TEST_CASE("passes that take turns are refused where the last begins out of range") {
  schedule s = one_f_one_b(2, 1);
  tick const end = makespan(s);
  s.work = work_graph({{.parts = {{0, 1}, {1, max_tick - 3}}}}, {});
  for (int k : {0, 1}) s.order[static_cast<std::size_t>(k)].push_back({{X, 0, k}, end});
  CHECK(check(lower(s)).ok());
  CHECK_BREAKS(ticks_fit, lower(s, {.transfers = transfer_order::asap}));
}

TEST_CASE("options are equal if all of them are") {
  lower_options other;
  CHECK(other == lower_options{});
  other.prefetch = 2;
  CHECK(other != lower_options{});
}

}  // namespace

#include <ashlar/bounds/lower_bound.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include "workloads.hpp"

#include <limits>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("the smallest limit on memory") {
  auto const least = [](placement const& where, int device) {
    return smallest_budget(where, chunk_activations(1).memory, device);
  };
  CHECK((least(linear(devices{4}), 2) == 1 && least(v_shape(devices{4}), 0) == 2));
  workload w{.where = looped(devices{4}, chunks{3}), .micro_batch_count = 4};
  auto const smallest = [&](int device) {
    return smallest_budget(w.where, w.limit.memory, device, w.sequence_chunks, w.mode);
  };
  CHECK(smallest(3) == 3);
  w.sequence_chunks = 4;
  CHECK((smallest(3) == 12 && check(w).ok()));
  w.sequence_chunks = 3;
  CHECK((check(w).broken == rule::micro_batches_fill_blocks && check(w).number == 3));
  w.mode = execution_mode::inference;
  CHECK(smallest(3) == 1);
  placement one_of_two(devices{2}, {{0, 0, 0}});
  CHECK((least(one_of_two, 0) == 3 && least(one_of_two, 1) == 0));
  CHECK(check(on_v(2, 2, 2)).ok());
  diagnosis const d = check(on_v(2, 2, 1));
  CHECK((d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget));
  CHECK((d.number == 2 && d.given == 1 && d.first.device == 0));
}

TEST_CASE("one micro-batch: the way down and up") {
  // The way down and up has 3 forwards and 3 fused backwards of 5 and 7 with 4 transfers; the last
  // device has one of each.
  bound const b = workload_bound(
      {.where = linear(devices{3}), .cost = costs(stage_cost{5, 4, 3}, 2), .splits_backward = false});
  CHECK((b.span == 3 * 12 + 4 * 2 && b.makespan == b.span));
  CHECK((b.span_by == binding_constraint::dependencies
         && b.makespan_by == binding_constraint::dependencies));
  // The weight pass of device 0 is the last of the way back, the others have time for theirs.
  bound const split =
      workload_bound(workload{.where = linear(devices{3}), .cost = costs(stage_cost{5, 4, 3}, 2)});
  CHECK(split.span == 3 * 9 + 4 * 2 + 3);
}

TEST_CASE("memory for one micro-batch") {
  bound const b = workload_bound(on_chain(2, 2, 1));
  CHECK((b.span == 2 * 5 && b.makespan == 2 * 5));  // F F B B W, then the next
  CHECK(b.span_by == binding_constraint::memory);
}

TEST_CASE("memory for two micro-batches") {
  bound const b = workload_bound(on_chain(2, 2, 2));
  CHECK((b.span == 7 && b.makespan == 7));  // device 0: F F, then the first backward is still to come
  CHECK((b.span_by == binding_constraint::dependencies
         && b.makespan_by == binding_constraint::dependencies));
}

TEST_CASE("a device alone works all the time") {
  bound const b = workload_bound(on_chain(1, 4, 1, {2, 3, 4}));
  CHECK((b.span == 36 && b.makespan == 36 && b.span_by == binding_constraint::work));
  workload again = on_chain(1, 4, 1, {2, 3, 4, 5});
  again.limit.memory.stages[0].checkpoint = 1;
  CHECK(workload_bound(again).span == 4 * 14);
  again.mode = execution_mode::inference;
  CHECK(workload_bound(again).span == 8);
}

// There is room for one: the next forward waits for the weight pass, or only for the input pass; what is
// recomputed is held only then.
TEST_CASE("activations count between two passes") {
  workload w = on_chain(2, 2, 1);
  stage_memory& each = w.limit.memory.stages[0];
  each.checkpoint = 1;
  CHECK(workload_bound(w).makespan == 2 * 6);  // F F R I I W, device 0 recomputes while it waits
  each.stash_left = 0;
  CHECK(workload_bound(w).makespan == 11);
  each.checkpoint = 0;
  CHECK(workload_bound(w).makespan == 9);  // device 0: F F, then R I R I W W with an idle tick between
}

// Both chunks of a sequence come before the first goes back.
TEST_CASE("sequences turn when all of their chunks have come") {
  workload w = on_chain(2, 2, 2);
  CHECK(workload_bound(w).makespan == 7);
  w.sequence_chunks = 2;
  CHECK(workload_bound(w).makespan == 8);  // device 1: F F I, then device 0: I I W W
}

// Backwards on device 0 wait for those on device 1: the long one of chunk 1 comes first and fits in
// between.
TEST_CASE("chunks of a sequence that differ") {
  workload w = on_chain(2, 2, 9);
  w.sequence_chunks = 2;
  w.splits_backward = false;
  w.cost.passes =
      pass_costs::by_stage_and_sequence_chunk({{1, 1, 1}, {1, 4, 1}, {1, 4, 1}, {1, 4, 1}}, 2);
  CHECK(workload_bound(w).makespan == 15);    // F F F, B1 and B0 of device 1, then B0
  w.cost.passes.at(0, 0).backward_input = 6;  // then of B0, which is last, all counts
  CHECK(workload_bound(w).makespan == 20);
  w.cost.passes =
      pass_costs::by_stage_and_sequence_chunk({{5, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 2);
  CHECK(workload_bound(w).makespan == 5 + 1 + 1 + 2 * 2 + 2);  // chunk 0 is in everybody's way
  CHECK(busiest_work(w) == 10);
}

// A search finds a span of 99. A bound that puts the long chunk of later sequences after one pass more
// for each sequence before asks for 103.
TEST_CASE("long chunks of later sequences") {
  workload w = on_chain(2, 8, 2);
  w.cost.on.links.inside.latency = 3;
  w.sequence_chunks = 2;
  w.cost.passes =
      pass_costs::by_stage_and_sequence_chunk({{2, 2, 3}, {2, 2, 3}, {3, 7, 5}, {2, 2, 3}}, 2);
  CHECK(workload_bound(w).span <= 99);
}

// A device has a long and a short chunk: a bound that pairs the short ones with late starts asks for too
// much.
TEST_CASE("chunks of unlike length") {
  workload w{.where = placement(devices{1}, {{0, 0}}),
             .micro_batch_count = 3,
             .cost = costs(std::vector<stage_cost>{{1, 1, 1}, {7, 5, 9}}),
             .limit = chunk_activations(2)};
  bound const b = workload_bound(w);
  CHECK((b.span == 3 * 24 && b.makespan == 3 * 24 && b.span_by == binding_constraint::work));
}

TEST_CASE("the workload of a schedule") {
  schedule const s = one_f_one_b(2, 2);
  workload const w = workload_of(s);
  CHECK((has_workload(s) && w.limit == chunk_activations(2) && !w.splits_backward));
  CHECK((w.where == linear(devices{2}) && w.micro_batch_count == 2));
  workload const again = workload_of(recomputed(2) | repeat(micro_batches{2}));
  CHECK((!w.recomputes(0) && again.recomputes(0) && again.recomputes(1)));
  CHECK(!has_workload(fork_join() | repeat(micro_batches{2})));
  CHECK(workload_of(catalog::zb_h1(devices{2}) | repeat(micro_batches{2})).splits_backward);

  std::optional<bound> const b = schedule_bound(s);
  CHECK((b.has_value() && b->makespan == 9 && makespan(s) == 9 && b->span == 9));
  CHECK(schedule_bound(s, 1)->span == 12);  // one micro-batch after the other
  CHECK((gap(9, 9) == 0 && gap(12, 9) == 3.0 / 9.0 && gap(0, 0) == 0));
}

// On two devices each way has its first stage where the other has its last, and none waits.
TEST_CASE("several routes") {
  schedule const s = two_ways(2) | repeat(micro_batches{2});
  workload const w = workload_of(s);
  CHECK((w.on_route == std::vector<int>{1, 1} && w.where == s.where && w.micro_batch_count == 2));
  CHECK((busiest_work(w) == 2 * 3 && schedule_bound(s)->makespan == 2 * 3));
  // Routes that nobody takes do not count.
  schedule half = s;
  half.route.assign(2, 1);
  CHECK((workload_of(half).on_route.empty() && workload_of(half).where == mirror(linear(devices{2}))));
}

// One route each way over three devices takes 9 ticks, but both want the middle one at the same time.
TEST_CASE("where routes meet") {
  CHECK(schedule_bound(two_ways(3) | repeat(micro_batches{2}))->makespan == 11);
  CHECK(schedule_bound(two_ways(2) | repeat(micro_batches{6}))->makespan == 6 * 3);
}

// With three, device 0 has no gap, but the others begin later.
TEST_CASE("memory for three micro-batches") {
  bound const b = workload_bound(on_chain(2, 3, 3));
  CHECK(b.span == 9);
  CHECK(b.span_by == binding_constraint::work);
  CHECK(b.makespan == 10);
  CHECK(b.makespan_by == binding_constraint::dependencies);
}

TEST_CASE("workloads that there are no schedules for") {
  CHECK_BREAKS(parameter_is_at_least, workload_bound(on_v(3, 4, 1)));
  CHECK_BREAKS(counts_are_positive, workload_bound(on_chain(3, 0, 1)));
  CHECK_BREAKS(no_duration_is_negative, workload_bound(on_chain(3, 1, 1, {-1, 1, 1})));
  workload w = on_chain(3, 2, 1);
  w.limit = chunk_activations({1, 1});
  CHECK_BREAKS(tables_agree, workload_bound(w));
  CHECK_BREAKS(parameter_is_at_least, schedule_bound(one_f_one_b(2, 2), 0));
  workload both = workload_of(two_ways(2) | repeat(micro_batches{4}));
  both.on_route = {3, 2};
  CHECK_BREAKS(tables_agree, workload_bound(both));
  both.on_route = {4, 0};
  CHECK_BREAKS(counts_are_positive, workload_bound(both));
  both.on_route = {4};
  CHECK_BREAKS(tables_agree, workload_bound(both));
  both.on_route = {3, 1};
  both.sequence_chunks = 2;
  CHECK_BREAKS(micro_batches_fill_blocks, workload_bound(both));
  CHECK_BREAKS(bound_is_for_a_chain, workload_of(fork_join() | repeat(micro_batches{2})));
}

TEST_CASE("pairs that take less than their passes") {
  auto const bound_with = [](tick overlapped) {
    costs cost(stage_cost{2, 2, 3});
    cost.passes.overlapped = overlapped;
    schedule const s =
        catalog::find("dualpipev")->make({.p = devices{2}, .m = micro_batches{4}, .cost = cost});
    workload const w = workload_of(s);
    CHECK(w.overlaps == (overlapped > 0));
    CHECK(workload_bound(w).makespan <= makespan(s));
    return std::pair{w.length(pass_kind::backward, 0), busiest_work(w)};
  };
  // Each device has 8 forwards and 8 backwards of 5 ticks, whose weight parts are what is saved first.
  CHECK(bound_with(pass_costs::one_after_the_other) == std::pair<tick, tick>{5, 8 * 7});
  CHECK(bound_with(7) == std::pair<tick, tick>{5, 8 * 7});
  CHECK(bound_with(5) == std::pair<tick, tick>{3, 8 * 5});
  CHECK(bound_with(3) == std::pair<tick, tick>{1, 8 * 3});
  CHECK(bound_with(1) == std::pair<tick, tick>{0, 8 * 1});
}

// Only some of many devices are looked at one by one, but always the busiest: in inference the first
// shows nothing of it.
TEST_CASE("the busiest of many devices") {
  std::vector<stage_cost> each(20);
  each[11].forward = 10;
  workload const w{.where = linear(devices{20}),
                   .micro_batch_count = 4,
                   .cost = costs(each),
                   .mode = execution_mode::inference};
  bound const b = workload_bound(w);
  CHECK(b.span == 4 * 10);
  CHECK(b.makespan == 11 + 4 * 10 + 8);
}

// This would take minutes if every chunk were compared with every other.
TEST_CASE("many stages on one device") {
  constexpr int count = 20'000;
  std::vector<stage_cost> each(count);
  workload w{.where = make_placement(devices{1}, stages{count}, [](int) { return 0; })};
  tick work = 0;
  for (int stage = 0; stage < count; ++stage) {
    each[static_cast<std::size_t>(stage)] = {1 + stage % 7, 1 + stage % 5, 1 + stage % 3, 2};
    work += 3 + stage % 7 + stage % 5 + stage % 3 + 2;
  }
  w.cost = costs(each);
  w.limit.memory.stages[0].checkpoint = 1;
  CHECK(workload_bound(w).makespan == work);
}

TEST_CASE("workloads with more passes than an int counts") {
  CHECK_BREAKS(sizes_fit, workload_bound(on_chain(4, std::numeric_limits<int>::max(), 1)));
}

TEST_CASE("what is no schedule has no workload") {
  schedule s = one_f_one_b(2, 2);
  s.order[1][0].what.stage = 77;
  CHECK(!has_workload(s));
  CHECK(!schedule_bound(s));
  s = one_f_one_b(2, 2);
  s.route.assign(2, 1);
  CHECK(!has_workload(s));
}

// A stage's own activations count, not only those of its device: without the step back of its own that
// its step forth waits for, it would be 118.
TEST_CASE("each stage of a device waits for memory of its own") {
  workload const w{.where = placement(devices{2}, {{1, 0, 1}}),
                   .micro_batch_count = 3,
                   .cost = costs(std::vector<stage_cost>{{8, 8, 9}, {2, 3, 9}, {1, 6, 7}}, 3),
                   .limit = chunk_activations(2)};
  CHECK(workload_bound(w).span == 119);
}

// Micro-batches go down 4 devices and up again; one device is slow and one link is long.
TEST_CASE("devices and links that differ") {
  workload w = on_chain(4, 1, 1, {5, 4, 3}, 2);
  w.cost.on.speeds = {100, 100, 50, 100};
  w.cost.on.links.between.latency = 7;
  w.cost.on.links.node_size = 2;
  CHECK(workload_bound(w).span == 5 * 9 + 2 * (2 + 7 + 2) + 3);
  CHECK((busiest_work(w) == 24 && shortest_lifespan(w, 2) == 10 + (9 + 2 * 2) + 14));
  w.micro_batch_count = 40;
  w.limit = chunk_activations(40);
  CHECK(workload_bound(w).span == 40 * 24);  // the slow device never rests
  w.cost.on.speeds = {100, 100, 0, 100};
  CHECK((check(w).broken == rule::parameter_is_at_least && check(w).first.device == 2));
}

}  // namespace

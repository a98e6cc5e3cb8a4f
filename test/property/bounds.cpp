// No schedule is below its bound: those of the catalog over sizes and costs, and the best of all orders
// of tiny workloads.
#include "exhaustive_search.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/check/check.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace random_case;

namespace {

// It holds under what each device holds, and under the most that one holds on all.
void holds_for(schedule const& s) {
  REQUIRE(check(s).ok());
  std::vector<int> const peaks = peak_activations(s);
  workload const own = workload_of(s, peaks);
  bound const tight = workload_bound(own), b = schedule_bound(s).value();
  CHECK(tight.span <= span(s));
  CHECK(tight.makespan <= makespan(s));
  CHECK(b.span <= tight.span);
  CHECK(b.makespan <= tight.makespan);
  CHECK(b.span <= b.makespan);
  CHECK(b.span >= busiest_work(own));
  CHECK(b.span >= area_bound(workload_of(s)));
}

TEST_CASE("no schedule of the catalog is below its bound") {
  int bounded = 0;
  for (catalog::entry const* listed : catalog::all_entries) FOR_SEEDS(12) {
      catalog::entry const& e = *listed;
      catalog::shape shape{.p = devices{d.between(1, 6)}, .m = micro_batches{d.between(1, 14)}};
      shape.v = chunks{d.between(1, 3)};
      if (e.is_searched && seed % 4 != 0) continue;  // these take a second each
      if (!e.check(shape).ok()) shape.m = micro_batches{2 * shape.p.value};
      if (!e.check(shape).ok()) continue;
      int const stage_count = e.make(shape).stage_count();
      shape.cost = random_costs(d, stage_count);
      vary_machine(d, shape.cost, e.make(shape).device_count(), false);
      CAPTURE(e.name);
      CAPTURE(seed);
      schedule const s = e.make(shape);
      if (!has_workload(s)) continue;
      holds_for(s);
      ++bounded;
    }
  CHECK(bounded > 200);
}

TEST_CASE("no schedule is below its bound, wherever its stages are") {
  FOR_SEEDS(300) {
    block const b = random_block(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = squeeze(repeat(b, random_count(d, b)));
    if (has_workload(s)) holds_for(s);
  }
}

TEST_CASE("a longer list, more memory and dearer passes") {
  FOR_SEEDS(100) {
    int const p = d.between(1, 4);
    workload w{.where = d.percent(50) ? v_shape(devices{p}) : linear(devices{p}),
               .micro_batch_count = d.between(1, 8)};
    w.cost = random_costs(d, w.where.stage_count());
    vary_machine(d, w.cost, p, false);
    w.limit = chunk_activations(d.between(2, 8));
    w.splits_backward = d.percent(50);
    CAPTURE(seed);
    bound const b = workload_bound(w);
    auto const is_no_less = [&](workload const& more) {
      bound const c = workload_bound(more);
      CHECK(c.span >= b.span);
      CHECK(c.makespan >= b.makespan);
    };
    workload more = w;
    ++more.micro_batch_count;
    is_no_less(more);
    more = w;
    more.limit.budget[0] -= more.limit.budget[0] > 2 ? 1 : 0;
    is_no_less(more);
    more = w;
    more.splits_backward = false;
    is_no_less(more);
    more = w;
    ++more.cost.on.links.inside.latency;
    is_no_less(more);
    more = w;
    more.cost.on.speeds.resize(static_cast<std::size_t>(p), 100);
    more.cost.on.speeds[static_cast<std::size_t>(d.between(0, p - 1))] -= 30;
    is_no_less(more);
  }
}

enum class sequences : unsigned char { whole_or_alike, differ_by_sequence_chunk, differ };

workload tiny_workload(dice& d, sequences kind = sequences::whole_or_alike) {
  devices const p{d.between(1, 3)}, few{std::min(p.value, 2)};
  workload w;
  switch (d.between(0, 5)) {
    case 0:
    case 1:
      w.where = linear(p);
      break;
    case 2:
      w.where = v_shape(few);
      break;
    case 3:
      w.where = looped(few, chunks{2});
      break;
    default:
      w.where = random_placement(d, p, stages{d.between(1, 4)});
  }
  if (d.percent(25))
    w.where = overlay(w.where, d.percent(50) ? mirror(w.where)
                                             : random_placement(d, devices{w.where.device_count()},
                                                                stages{w.where.stage_count()}));
  bool const both_ways = w.where.route_count() == 2;
  w.micro_batch_count = d.between(both_ways ? 2 : 1, p.value == 1 ? 5 : 4);
  bool const differ = kind == sequences::differ_by_sequence_chunk;
  if (differ || d.percent(20)) {
    w.sequence_chunks = d.between(differ ? 2 : 1, 3);
    w.micro_batch_count = w.sequence_chunks * d.between(1, 4 / w.sequence_chunks);
  }
  bool const each_differs = kind == sequences::differ;
  if (each_differs) {  // on one route
    std::vector<int> route;
    for (int stage = 0; stage < w.where.stage_count(); ++stage)
      route.push_back(w.where.device_of(0, stage));
    w.where = placement(devices{w.where.device_count()}, {route});
  }
  if (int const q = w.sequence_chunks, n = w.micro_batch_count / q;
      both_ways && n > 1 && !each_differs) {
    int const there = q * d.between(1, n - 1);
    w.on_route = {there, w.micro_batch_count - there};
  }
  if (d.percent(5)) w.mode = execution_mode::inference;
  w.splits_backward = d.percent(70);
  // Memory is in activations; or in halves and thirds of them, some of which the input pass gives back
  // or only a recompute takes; beside what lies there all the time.
  memory_model& memory = w.limit.memory;
  bool const parts = d.percent(15), early = d.percent(20);
  byte_count const checkpoint = d.percent(50) ? 0 : 1;
  memory.stages.assign(static_cast<std::size_t>(w.where.stage_count()), {.stash = 1});
  bool const again = d.percent(20);
  for (stage_memory& m : memory.stages) {
    if (again && d.percent(70)) m.checkpoint = checkpoint;
    if (early) m.stash_left = 0;
    if (!parts) continue;
    m.weights = d.between(0, 2);
    m.stash = d.between(1, 3);
    if (m.recomputes()) m.checkpoint = d.between(0, static_cast<int>(m.stash));
    m.stash_left = d.between(0, static_cast<int>(m.stash));
    m.weight_stash = d.between(0, 1);
  }
  w.cost = d.percent(30) ? costs(stage_cost{}, d.between(0, 1)) : random_costs(d, w.where.stage_count());
  if (differ) differ_by_sequence_chunk(d, w.cost, w.sequence_chunks);
  if (each_differs) differ_by_micro_batch(d, w.cost, w.micro_batch_count);
  if (each_differs && d.percent(50)) differ_by_micro_batch(d, memory, w.micro_batch_count, 2);
  vary_machine(d, w.cost, w.where.device_count(), false);
  w.limit.budget.clear();
  for (int e = 0; e < w.where.device_count(); ++e) {
    byte_count const least = smallest_budget(w.where, memory, e, w.sequence_chunks, w.mode);
    byte_count const whole = std::max(1, chunk_count(w.where, e) * w.sequence_chunks);
    w.limit.budget.push_back((parts ? least : std::max(whole, least)) + d.between(0, 3));
  }
  return w;
}

bool counts_whole_activations(workload const& w) {
  return std::all_of(
      w.limit.memory.stages.begin(), w.limit.memory.stages.end(),
      [](stage_memory const& m) { return m.stash == 1 && m.weight_stash == 0 && m.resident() == 0; });
}

// The search stops at a schedule as short as the bound: it is then the best, and the bound is tight.
TEST_CASE("the bound is no more than the best of all orders, and mostly that") {
  using exhaustive_search::search;
  int solved = 0, whole[] = {0, 0}, tight[] = {0, 0};  // on one route, on two
  int const workloads = random_cases(2000);
  FOR_SEEDS(workloads) {
    workload const w = tiny_workload(d);
    CAPTURE(seed);
    bound const b = workload_bound(w);
    for (search::aim const aim : {search::aim::span, search::aim::makespan}) {
      tick const least = aim == search::aim::span ? b.span : b.makespan;
      // It also runs without the assumption that micro-batches take their passes in order.
      tick const best = search(w, seed % 4 != 0).least(aim, least, 50'000);
      if (best < 0) continue;
      CHECK(least <= best);
      ++solved;
      if (!counts_whole_activations(w)) continue;
      std::size_t const two = w.on_route.empty() ? 0 : 1;
      ++whole[two];
      tight[two] += least == best ? 1 : 0;
    }
  }
  MESSAGE(tight[0] << " of " << whole[0] << " bounds in whole activations are tight, on two routes "
                   << tight[1] << " of " << whole[1]);
  CHECK(4 * solved > 7 * workloads);
  CHECK(20 * tight[0] > 19 * whole[0]);
  // With few cases, as under sanitizers, the share may be a little smaller.
  CHECK(100 * tight[1] > (workloads >= 2000 ? 80 : 75) * whole[1]);
  CHECK(4 * (whole[0] + whole[1]) > 3 * solved);
}

// Micro-batches may be taken in any order.
TEST_CASE("the bound is no more than the best of all orders where micro-batches differ") {
  using exhaustive_search::search;
  int solved = 0, tight = 0;
  int const workloads = random_cases(300);
  FOR_SEEDS(workloads) {
    workload const w = tiny_workload(d, sequences::differ);
    CAPTURE(seed);
    bound const b = workload_bound(w);
    for (search::aim const aim : {search::aim::span, search::aim::makespan}) {
      tick const least = aim == search::aim::span ? b.span : b.makespan;
      tick const best = search(w, false).least(aim, least, 50'000);
      if (best < 0) continue;
      CHECK(least <= best);
      ++solved;
      tight += least == best ? 1 : 0;
    }
    CHECK(b.span >= busiest_work(w));
  }
  MESSAGE(tight << " of " << solved << " are tight");
  CHECK(3 * solved > 4 * workloads);
  CHECK(2 * tight > solved);
}

// Then micro-batches in order are a restriction: longer passes may come earlier or later.
TEST_CASE("the bound is no more than the best of all orders where chunks of sequences differ") {
  using exhaustive_search::search;
  int solved = 0, tight = 0, beyond_alike = 0;
  int const workloads = random_cases(200);
  FOR_SEEDS(workloads) {
    workload const w = tiny_workload(d, sequences::differ_by_sequence_chunk);
    CAPTURE(seed);
    bound const b = workload_bound(w);
    for (search::aim const aim : {search::aim::span, search::aim::makespan}) {
      tick const least = aim == search::aim::span ? b.span : b.makespan;
      tick const best = search(w, false).least(aim, least, 50'000);
      if (best < 0) continue;
      CHECK(least <= best);
      ++solved;
      tight += least == best ? 1 : 0;
    }
    CHECK(b.span >= busiest_work(w));
    workload alike = w;  // as if all chunks were as short as the shortest
    w.cost.passes.for_each([&](int stage, int chunk, stage_cost const&) {
      for (int other = 0; other < w.cost.passes.period(); ++other) {
        stage_cost& c = alike.cost.passes.at(stage, chunk);
        stage_cost const& o = w.cost.passes.of(stage, other);
        c.recompute = std::min(c.of(pass_kind::recompute), o.of(pass_kind::recompute));
        c.forward = std::min(c.forward, o.forward);
        c.backward_input = std::min(c.backward_input, o.backward_input);
        c.backward_weight = std::min(c.backward_weight, o.backward_weight);
      }
    });
    bound const lower = workload_bound(alike);
    CHECK(lower.span <= b.span);
    CHECK(lower.makespan <= b.makespan);
    beyond_alike += lower.makespan < b.makespan ? 1 : 0;
  }
  MESSAGE(tight << " of " << solved << " are tight");
  CHECK(3 * solved > 4 * workloads);
  // With few cases, as under sanitizers, the share may be a little smaller.
  CHECK(100 * tight > (workloads >= 200 ? 50 : 40) * solved);
  CHECK(4 * beyond_alike > 3 * workloads);
}

// The search ends for itself here, with nothing to stop at.
TEST_CASE("the best of all orders without knowing the bound") {
  using exhaustive_search::search;
  int solved = 0, in_any_order = 0;
  int const workloads = random_cases(400);
  FOR_SEEDS(workloads) {
    workload const w = tiny_workload(d);
    CAPTURE(seed);
    bound const b = workload_bound(w);
    tick const shortest_span = search(w, true).least(search::aim::span, 0, 50'000);
    tick const shortest = search(w, true).least(search::aim::makespan, 0, 50'000);
    if (shortest_span < 0 || shortest < 0) continue;
    CHECK(b.span <= shortest_span);
    CHECK(b.makespan <= shortest);
    CHECK(shortest_span <= shortest);
    // The order of micro-batches is no restriction.
    tick const any_order = search(w, false).least(search::aim::span, 0, 50'000);
    ++solved;
    if (any_order < 0) continue;
    CHECK(any_order == shortest_span);
    ++in_any_order;
  }
  CHECK(2 * solved > workloads);
  CHECK(4 * in_any_order > workloads);
}

}  // namespace

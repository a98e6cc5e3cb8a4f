// Searches while compiling, from one micro-batch after the other to the best that there is.
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/seeds.hpp>

using namespace ashlar;

constexpr schedule to_search() {
  return one_after_another(linear(devices{2}), micro_batches{3}, costs(stage_cost{3, 4, 2}, 2));
}
static_assert(makespan(to_search()) == 60);  // 3 + 2 + 3 + 4 + 2 + 4 + 2 a micro-batch
#if !defined(__CUDACC__)  // nvcc 13 loses the workload on its way through the optional
static_assert(schedule_bound(to_search(), 2)->makespan == 40);
#endif

// A device of half the speed, and one of which weights leave half of the memory.
constexpr schedule on_a_slow_device() {
  schedule s = to_search();
  s.cost.speeds = {100, 50};
  return squeeze(s);
}
static_assert(makespan(on_a_slow_device()) == 60 + 3 * (3 + 4));  // weight passes have time
static_assert(memory_limit{.memory = {.stages = {{.stash = 10}, {.weights = 20, .stash = 10}}},
                           .budget = {40}}
                  .free_on(linear(devices{2}), 1)
              == 20);

// The shorter timeline of both ways.
constexpr tick dispatched(int limit, int window) {
  schedule const s = to_search();
  list_scheduler d(s, chunk_activations(limit));
  list_scheduler::timeline forth, back;
  if (!d.run(d.passes().orders, {.window = window}, {}, forth)) return -1;
  if (!d.run_reversed(forth.orders, {.window = window}, {}, back)) return -2;
  if (!check(timed(s, d.passes(), forth)).ok() || !check(timed(s, d.passes(), back)).ok()) return -3;
  return forth.makespan < back.makespan ? forth.makespan : back.makespan;
}
static_assert(dispatched(2, 1) == 60);
static_assert(dispatched(1, 9) == 60);
static_assert(dispatched(2, 9) < 60);

constexpr tick justified(objective aim) {
  schedule const s = to_search();
  justifier<> search(s, chunk_activations(2), {.passes = 1000, .aim = aim});
  search.justify(search.passes().orders, {{9}, {9, 50}, {9}, true, 2});
  schedule const r = search.result();
  return !check(r).ok() || !is_within(r, chunk_activations(2)) ? -1
         : aim == objective::span                              ? span(r)
                                                               : makespan(r);
}
static_assert(justified(objective::span) >= 40 && justified(objective::span) < 50);
static_assert(justified(objective::makespan) >= 40 && justified(objective::makespan) < 50);

constexpr tick improved(std::int64_t passes) {
  schedule const r =
      improve({to_search()}, chunk_activations(2), {.passes = passes, .aim = objective::makespan});
  return check(r).ok() && is_within(r, chunk_activations(2)) ? makespan(r) : -1;
}
static_assert(improved(0) == 60);
static_assert(improved(400) == 40);  // proved: no schedule is shorter

// Programs simulated while compiling.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

using namespace ashlar;

constexpr tick transferred(char const* name, tick latency) {
  schedule const s =
      catalog::find(name)->make({devices{3}, micro_batches{3}, costs(stage_cost{1, 1, 1}, latency)});
  simulation const run = simulate(lower(s), {.cost = s.cost,
                                             .memory = {.stages = {{.weights = 100, .stash = 10}}},
                                             .latency_holds_lane = false});
  return run.makespan() == makespan(s) && run.critical.back().until == run.makespan()
                 && run.memory[0].peak == 100 + 10 * peak_activations(s)[0]
             ? run.makespan()
             : -1;
}

static_assert(transferred("1f1b", 0) == 15);
static_assert(transferred("1f1b", 1) == 21);
static_assert(transferred("gpipe", 1) == 19);
static_assert(transferred("zb-h1", 0) == 11);

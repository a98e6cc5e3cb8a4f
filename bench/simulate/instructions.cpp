// How long does a simulation take, and does it grow linearly?
//
// `times` are the starts and ends alone, `all` has the idle split, the critical path and the memory too.
// N is the number of instructions; `each` the time for one of them.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace ashlar;

void measure(benchmark::State& state, char const* name, bool all) {
  devices const p{static_cast<int>(state.range(0))};
  micro_batches const m{static_cast<int>(state.range(1))};
  program const low = lower(catalog::find(name)->make({p, m}));
  simulation_options o;
  o.cost = costs(stage_cost{100, 100, 100});
  o.cost.on.links.inside = {.latency = 3, .bandwidth = 10};
  o.cost.on.links.between = {.latency = 10, .bandwidth = 1};
  o.cost.on.links.node_size = 8;
  o.memory.stages = {
      {.weights = 1'000, .activation = 100, .gradient = 100, .stash = 700, .weight_stash = 90}};
  for (auto _ : state) {
    if (all)
      benchmark::DoNotOptimize(simulate(low, o));
    else
      benchmark::DoNotOptimize(time_program(low, o));
  }
  auto const instructions = static_cast<std::int64_t>(low.instructions.size());
  state.SetComplexityN(instructions);
  state.counters["instructions"] = static_cast<double>(instructions);
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(instructions),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  for (bool const all : {false, true})
    for (char const* const name : {"1f1b", "v-half"}) {
      auto* const family = benchmark::RegisterBenchmark(
          (std::string(all ? "all/" : "times/") + name).c_str(),
          [name, all](benchmark::State& state) { measure(state, name, all); });
      for (auto const& [p, m] : {std::pair{4, 64}, {16, 512}, {64, 1024}, {64, 2048}})
        family->Args({p, m});
      family->ArgNames({"p", "m"})->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}

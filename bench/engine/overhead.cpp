// Measures the cost of the engine itself: a step of a worker that does nothing, on threads.
//
// `each` is the time of a step divided by the instructions of all devices: waits, hand-overs and message
// matching, and on a machine with fewer cores than lanes mostly the switches between threads.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace ashlar;

// A worker with slots of one cache line and passes of no length.
struct idle_worker {
  value_layout layout(value_key) const { return {.bytes = 64, .element = element_type::f64}; }
  void forward(auto&, frame const&) {}
  void backward(auto&, frame const&) {}
  void backward_input(auto&, frame const&) {}
  void backward_weight(auto&, frame const&) {}
};

void measure(benchmark::State& state, char const* name, host::send_mode mode) {
  catalog::shape const shape{devices{static_cast<int>(state.range(0))},
                             micro_batches{static_cast<int>(state.range(1))}};
  program p = lower(catalog::find(name)->make(shape));
  auto const instructions = static_cast<std::int64_t>(p.instructions.size());
  idle_worker worker;
  host::runtime engine(std::move(p), worker, {.mode = mode});
  for (auto _ : state) engine.run();
  state.counters["instructions"] = static_cast<double>(instructions);
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(instructions),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

constexpr std::array<std::pair<int, int>, 6> sizes{
    {{1, 64}, {1, 1024}, {2, 64}, {2, 1024}, {4, 64}, {8, 64}}};

}  // namespace

int main(int argc, char** argv) {
  for (auto const& [mode, mode_name] : {std::pair{host::send_mode::rendezvous, "rendezvous"},
                                        std::pair{host::send_mode::buffered, "buffered"}})
    for (char const* name : {"1f1b", "zb-h1"}) {
      auto* const family = benchmark::RegisterBenchmark(
          (std::string(mode_name) + '/' + name).c_str(),
          [=, mode = mode](benchmark::State& state) { measure(state, name, mode); });
      for (auto const& [p, m] : sizes) family->Args({p, m});
      family->ArgNames({"p", "m"})->Unit(benchmark::kMicrosecond)->UseRealTime();
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}

// Measures what each step from a block to a proven program costs, and whether it grows linearly.
//
// One family a (step, schedule), over growing numbers of devices and micro-batches; N is the number of
// instructions of the program, which is proportional to the number of passes. `each` is the time for one
// instruction: it must not grow with N.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace ashlar;

// The values between the steps.
struct values {
  block unit;
  schedule loose, tight;
  program low;
  micro_batches m;
};

values make(char const* name, int p, int m) {
  values v;
  v.m = micro_batches{m};
  v.unit = catalog::find(name)->block_of({devices{p}, v.m});
  v.loose = repeat(v.unit, v.m);
  v.tight = squeeze(v.loose);
  v.low = lower(v.tight);
  return v;
}

void do_repeat(values const& v) { benchmark::DoNotOptimize(repeat(v.unit, v.m)); }
void do_squeeze(values const& v) { benchmark::DoNotOptimize(squeeze(v.loose)); }
void do_check_schedule(values const& v) { benchmark::DoNotOptimize(check(v.tight)); }
void do_lower(values const& v) { benchmark::DoNotOptimize(lower(v.tight)); }
void do_check_program(values const& v) { benchmark::DoNotOptimize(check(v.low)); }
void do_all(values const& v) {
  program const p = v.unit | repeat(v.m) | squeeze() | lower();
  benchmark::DoNotOptimize(check(p));
}

struct step {
  char const* name;
  void (*run)(values const&);
};
constexpr std::array steps{step{"repeat", do_repeat},
                           step{"squeeze", do_squeeze},
                           step{"check(schedule)", do_check_schedule},
                           step{"lower", do_lower},
                           step{"check(program)", do_check_program},
                           step{"all", do_all}};

constexpr std::array<std::pair<int, int>, 5> sizes{{{4, 8}, {8, 64}, {16, 256}, {32, 512}, {64, 1024}}};

void measure(benchmark::State& state, step const& what, char const* name) {
  values const v = make(name, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  auto const instructions = static_cast<std::int64_t>(v.low.instructions.size());
  auto const passes = static_cast<std::int64_t>(pass_count(v.tight));
  for (auto _ : state) what.run(v);
  state.SetItemsProcessed(state.iterations() * passes);
  state.SetComplexityN(instructions);
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(instructions),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  for (step const& s : steps)
    for (char const* name : {"gpipe", "1f1b", "zb-h1", "v-half"}) {
      auto* const family =
          benchmark::RegisterBenchmark((std::string(s.name) + '/' + name).c_str(),
                                       [&s, name](benchmark::State& state) { measure(state, s, name); });
      for (auto const& [p, m] : sizes) family->Args({p, m});
      family->ArgNames({"p", "m"})->Unit(benchmark::kMicrosecond)->Complexity(benchmark::oN);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}

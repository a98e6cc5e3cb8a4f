// Measures the cost of a schedule of many passes, from a name to a simulated step.
//
// A row: passes, instructions, the processor's seconds of each phase, the most memory the process had,
// and the bubble in percent: `bench_scale_phases 1f1b 1024 4096`. study.py runs many.
#include "../../tools/ashlar/options/kept_memory.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

using namespace ashlar;

// The processor's seconds since it was last asked.
class stopwatch {
 public:
  double lap() {
    std::clock_t const now = std::clock();
    double const seconds = static_cast<double>(now - last_) / CLOCKS_PER_SEC;
    last_ = now;
    return seconds;
  }

 private:
  std::clock_t last_ = std::clock();
};

double peak_gib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / (1024 * 1024);
}

int measure(char const* name, int p, int m) {
  catalog::entry const* const entry = catalog::find(name);
  if (entry == nullptr) return 2;
  stopwatch watch;
  schedule s = entry->make({.p = devices{p}, .m = micro_batches{m}});
  double const made = watch.lap();
  if (!check(s).ok()) return 1;
  double const checked = watch.lap();
  program const low = lower(s);
  double const lowered = watch.lap();
  simulation_options o;
  o.cost = s.cost;
  std::size_t const passes = pass_count(s);
  tick work = 0;  // of the busiest device
  for (tick const one : busy(s)) work = std::max(work, one);
  s = {};  // so that the largest fit
  watch.lap();
  if (!check(low).ok()) return 1;
  double const proved = watch.lap();
  tick const length = time_program(low, o).makespan;
  double const simulated = watch.lap();
  std::printf("| %s | %d | %d | %zu | %zu | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f |\n",
              name, p, m, passes, low.instructions.size(), made, checked, lowered, proved, simulated,
              made + checked + lowered + proved + simulated, peak_gib(),
              100 * (1 - static_cast<double>(work) / static_cast<double>(length)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tool::keep_freed_memory();  // as the tool does
  if (argc == 4) return measure(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  std::fputs("usage: bench_scale_phases SCHEDULE DEVICES MICRO_BATCHES\n", stderr);
  return 2;
}

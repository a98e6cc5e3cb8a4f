// What do ten million passes take, from a name to a simulated step?
//
// A row for each case: passes, instructions, the processor's seconds of each phase and the most memory
// the process had so far. Every case runs in a process of its own: `bench_large_phases` runs all,
// `bench_large_phases 1f1b 1024 4096` one.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <sys/resource.h>

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
  schedule const s = entry->make({.p = devices{p}, .m = micro_batches{m}});
  double const made = watch.lap();
  if (!check(s).ok()) return 1;
  double const checked = watch.lap();
  program const low = lower(s);
  double const lowered = watch.lap();
  if (!check(low).ok()) return 1;
  double const proved = watch.lap();
  simulation_options o;
  o.cost = s.cost;
  tick const length = simulate(low, o).makespan();
  double const simulated = watch.lap();
  std::size_t passes = 0;
  for (auto const& order : s.order) passes += order.size();
  std::printf("| %s | %d | %d | %zu | %zu | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %lld |\n",
              name, p, m, passes, low.instructions.size(), made, checked, lowered, proved, simulated,
              made + checked + lowered + proved + simulated, peak_gib(), static_cast<long long>(length));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return measure(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  std::puts(
      "| schedule | p | m | passes | instructions | make | check | lower | prove | simulate | all, s | "
      "GiB | "
      "makespan |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
  std::fflush(stdout);
  for (char const* const one : {" 1f1b 1024 1024", " 1f1b 1024 4096", " v-half 512 2048"})
    if (std::system(("'" + std::string(argv[0]) + "'" + one).c_str()) != 0) return 1;
}

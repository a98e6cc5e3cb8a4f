// Measures the gain of taking the order of passes as a hint, where passes take longer than was planned.
//
// Prints Markdown: the step with passes in order, and with windows of 2, 4 and 8 as a share of that, for
// the same delays. Passes sleep: a millisecond each, and by chance some are late by up to the row's
// delay. Steps of all windows take turns in one run, each with new delays; the median of each counts. 4
// devices, 16 micro-batches, transfers on a lane for each direction of each peer, a slot for each value,
// and, for comparison, as few slots as the planned order needs.
//
// usage: bench_engine_windows [steps, 15]
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace ashlar;

// Every `one_in`-th pass, by chance, is late by up to `late` milliseconds.
struct late_worker {
  std::uint64_t step = 0;
  int one_in = 4, late = 0;

  value_layout layout(value_key) const { return {.bytes = 64, .element = element_type::f64}; }
  void forward(auto&, frame const& f) const { sleep(f); }
  void backward(auto&, frame const& f) const {
    sleep(f);
    sleep(f);
  }
  void backward_input(auto&, frame const& f) const { sleep(f); }
  void backward_weight(auto&, frame const& f) const { sleep(f); }

 private:
  void sleep(frame const& f) const {
    std::uint64_t const dice =
        mixed(mixed(step * 1000 + static_cast<std::uint64_t>(f.what.micro_batch))
              + static_cast<std::uint64_t>(f.what.stage) * 64 + static_cast<std::uint64_t>(f.what.kind));
    double ms = 1;
    if (dice % static_cast<std::uint64_t>(one_in) == 0)
      ms += late * static_cast<double>(dice >> 32U) * 0x1p-32;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  }
};

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 15;
  if (steps < 1) {
    std::fputs("usage: bench_engine_windows [steps]\n", stderr);
    return 2;
  }
  std::puts("| schedule | slots | late by up to | in order, ms | window 2 | window 4 | window 8 |");
  std::puts("|---|---|---:|---:|---:|---:|---:|");
  for (char const* const name : {"1f1b", "zb-h1", "v-half"})
    for (slot_reuse const slots : {slot_reuse::never, slot_reuse::when_free})
      for (int const late : {0, 4, 12}) {
        program const p = lower(catalog::find(name)->make({devices{4}, micro_batches{16}}),
                                {.lanes = transfer_lanes::one_a_direction, .slots = slots});
        late_worker worker{.late = late};
        std::vector<std::unique_ptr<host::runtime<late_worker>>> runtimes;
        for (int const window : {1, 2, 4, 8})
          runtimes.push_back(std::make_unique<host::runtime<late_worker>>(
              p, worker, host::run_options{.window = window}));
        std::vector<std::vector<double>> times(runtimes.size());
        for (int step = 0; step < steps; ++step) {
          worker.step = static_cast<std::uint64_t>(step) + 1;
          for (std::size_t r = 0; r < runtimes.size(); ++r) {
            auto const begin = std::chrono::steady_clock::now();
            runtimes[r]->run();
            times[r].push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                    .count());
          }
        }
        for (std::vector<double>& each : times) {
          std::sort(each.begin(), each.end());
          each.resize(each.size() / 2 + 1);
        }
        std::printf("| %s | %s | %d ms | %.1f |", name,
                    slots == slot_reuse::never ? "one a value" : "fewest", late, times[0].back());
        for (std::size_t r = 1; r < times.size(); ++r)
          std::printf(" %.3f |", times[r].back() / times[0].back());
        std::puts("");
        std::fflush(stdout);
      }
  return 0;
}

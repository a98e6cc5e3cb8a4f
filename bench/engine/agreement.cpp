// Measures how much longer a step of a real model takes on threads than its passes must.
//
// bench_engine_agreement [steps] [devices ...]. `own` is a step replayed with the times that its own
// passes took, waiting for inputs and free slots alone, transfers free: the excess is the engine's.
// `work` is the sum of its passes over the available processors. Both are medians of the steps' ratios.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/issue_order.hpp>

#include <gpt/corpus.hpp>
#include <gpt/worker.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace ashlar;

// When the last pass ends if nothing but inputs, slots and its device holds a pass up; nanoseconds.
std::int64_t replay(program const& p, std::vector<int> const& order,
                    std::vector<instruction_time> const& times) {
  std::vector<std::int64_t> end(order.size(), 0), free(static_cast<std::size_t>(p.device_count()), 0);
  std::vector<wait_table> hazards;
  for (int d = 0; d < p.device_count(); ++d) hazards.push_back(waits(p.view(), d, wait_detail::all));
  std::int64_t last = 0, sent = 0;
  for (int const i : order) {
    auto const at = static_cast<std::size_t>(i);
    auto const d = static_cast<std::size_t>(device_of_instruction(p, i));
    instruction const& self = p.instructions[at];
    std::int64_t start = self.lane == compute_lane ? free[d] : 0;
    for (int const other : hazards[d].of(i - stream_begin(p, d)))
      start = std::max(start, end[static_cast<std::size_t>(stream_begin(p, d) + other)]);
    if (self.code == opcode::receive) start = std::max(start, sent);
    end[at] = start;
    sent = start;
    if (self.lane != compute_lane) continue;
    free[d] = end[at] = start + times[at].end - times[at].begin;
    last = std::max(last, end[at]);
  }
  return last;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void measure(char const* name, int devices_count, int steps, unsigned cores) {
  int const m = 4 * devices_count;
  schedule const s = catalog::find(name)->make({devices{devices_count}, micro_batches{m}});
  program const p = lower(s);
  std::vector<int> const order = issue_order(p.view());
  gpt::config const shape{.micro_batches = m, .stages = p.stage_count()};
  gpt::worker<float> w(shape, 1);
  std::vector<unsigned char> text;
  for (int i = 0; i < 4000; ++i) text.push_back(static_cast<unsigned char>('a' + i * i % 23));
  w.set_batch(gpt::sample(text, shape, 1, 0));
  host::runtime runtime(p, w, {.record = true});
  std::vector<double> took, own, work;
  for (int step = 0; step < steps; ++step) {
    auto const begin = std::chrono::steady_clock::now();
    runtime.run();
    double const ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    double sum = 0;
    for (std::size_t i = 0; i < p.instructions.size(); ++i)
      if (p.instructions[i].lane == compute_lane)
        sum += static_cast<double>(runtime.times()[i].end - runtime.times()[i].begin);
    took.push_back(ns * 1e-6);
    own.push_back(ns / static_cast<double>(replay(p, order, runtime.times())));
    work.push_back(ns * cores / sum);
  }
  std::printf("| %s | %d | %d | %.2f | %.3f | %.3f |\n", name, devices_count, m, median(took),
              median(own), median(work));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 40;
  unsigned const cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<int> sizes{2, 4};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  std::printf(
      "%u cores\n| schedule | p | m | ms a step | / own | / work |\n|---|---:|---:|---:|---:|---:|\n",
      cores);
  for (int p : sizes)
    for (char const* name : {"1f1b", "zb-h1", "v-half"}) measure(name, p, steps, cores);
}

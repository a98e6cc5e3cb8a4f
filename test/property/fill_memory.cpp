// Filled schedules hold as much as their programs, and no more than they may.
#include "random_cases.hpp"
#include "random_filling.hpp"
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/fill.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace ashlar;

namespace {

// Sizes of stages and of jobs.
fill_options random_sizes(std::uint64_t seed, int stages, std::vector<work_job> const& jobs) {
  std::mt19937_64 engine(seed);
  auto const size = [&] { return static_cast<byte_count>(1 + engine() % 9); };
  fill_options o;
  o.limit.memory.stages.assign(static_cast<std::size_t>(stages), {});
  for (stage_memory& m : o.limit.memory.stages) {
    m.weights = size();
    m.stash = 10 + size();
    m.weight_stash = size();
  }
  for (work_job const& j : jobs) {
    auto const* const computes = j.does.get_if<compute_job>();
    bool const keeps_state = computes != nullptr && computes->state.is<own_state>();
    o.work_bytes.push_back({10 * size(), keeps_state ? size() : 0});
  }
  return o;
}

// The peaks of the lowered program.
std::vector<byte_count> simulated_peaks(schedule const& filled, fill_options const& o) {
  simulation_options so;
  so.cost = filled.cost;
  so.memory = o.limit.memory;
  so.work_bytes = o.work_bytes;
  std::vector<byte_count> peaks;
  for (device_memory const& m : simulate(lower(filled), so).memory) peaks.push_back(m.peak);
  return peaks;
}

// Each device has three pairs, of which the second reads what the first hands on, and one that reads the
// stash of a forward.
work_graph pairs_of_work(schedule const& step) {
  std::vector<work_job> jobs;
  std::vector<work_edge> edges;
  for (int d = 0; d < step.device_count(); ++d)
    for (int i = 0; i < 3; ++i) {
      auto const number = static_cast<int>(jobs.size());
      jobs.push_back({.parts = {{d, 1 + i}}});
      jobs.push_back({.parts = {{d, 1}}});
      edges.push_back({{pass_kind::work, number, 0}, {pass_kind::work, number + 1, 0}});
      auto const& order = step.order[static_cast<std::size_t>(d)];
      if (i == 0 && !order.empty() && order[0].what.kind == pass_kind::forward)
        edges.push_back({order[0].what, {pass_kind::work, number + 1, 0}});
    }
  return work_graph(jobs, edges);
}

}  // namespace

TEST_CASE("what a filled schedule holds is what its program holds") {
  int compared = 0;
  for (int seed = 1; seed <= random_cases(300); ++seed) {
    CAPTURE(seed);
    random_filling const r(static_cast<std::uint64_t>(seed));
    bool has_sums = false;  // whose end no order of passes tells
    for (work_job const& j : jobs_of(r.work)) has_sums = has_sums || j.does.is<all_reduce_job>();
    if (has_sums || !recomputed_stages(r.step).empty()) continue;
    fill_options const o =
        random_sizes(static_cast<std::uint64_t>(seed), r.step.stage_count(), jobs_of(r.work));
    schedule const filled = fill(r.step, r.work, o);
    CHECK(simulated_peaks(filled, o) == peak_memory(filled, o.limit.memory, o.work_bytes));
    ++compared;
  }
  CHECK(compared > 20);
}

TEST_CASE("the program of what is filled in under a limit does not hold more than that") {
  int waited = 0, refused = 0;
  for (int seed = 1; seed <= random_cases(200); ++seed) {
    CAPTURE(seed);
    schedule const step = squeeze(conformance::random_schedule(static_cast<std::uint64_t>(seed)));
    if (!recomputed_stages(step).empty()) continue;
    work_graph const work = pairs_of_work(step);
    fill_options o = random_sizes(static_cast<std::uint64_t>(seed), step.stage_count(), jobs_of(work));
    std::vector<byte_count> const alone = peak_memory(step, o.limit.memory),
                                  free = simulated_peaks(fill(step, work, o), o);
    for (std::size_t d = 0; d < free.size(); ++d)
      o.limit.budget.push_back(alone[d] + (free[d] - alone[d]) / 2);
    try {
      std::vector<byte_count> const peaks = simulated_peaks(fill(step, work, o), o);
      for (std::size_t d = 0; d < peaks.size(); ++d) CHECK(peaks[d] <= o.limit.budget[d]);
      waited += free != peaks;
    } catch (violation const& v) {
      CHECK(v.why.broken == rule::memory_is_within_budget);
      CHECK(v.why.number > o.limit.budget_of(v.why.first.device));
      ++refused;
    }
  }
  CHECK(waited > random_cases(8));
  CHECK(refused > random_cases(8));
}

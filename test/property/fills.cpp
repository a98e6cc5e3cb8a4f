// What filling keeps: random work in random schedules of chains and of other graphs, with sums over
// devices, transfers and uneven stages.
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/fill.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace ashlar;

namespace {

// Jobs of a few pieces that read passes of the step, and of work before them.
class random_filling {
 public:
  explicit random_filling(std::uint64_t seed) : engine_(seed) {
    step = squeeze(seed % 3 == 0 ? conformance::random_graph_schedule(seed)
                                 : conformance::random_schedule(seed));
    if (below(2) == 0) {
      std::vector<stage_cost> each;
      for (int i = 0; i < step.stage_count(); ++i)
        each.push_back({1 + below(5), 1 + below(5), 1 + below(5)});
      step = retime(step, costs(each, below(4)));
    }
    std::vector<work_job> jobs;
    std::vector<work_edge> edges;
    for (int count = below(9); count > 0; --count) {
      bool const sums = !jobs.empty() && below(8) == 0;
      auto const number = static_cast<int>(jobs.size());
      work_job& job = jobs.emplace_back();
      int const device = below(step.device_count());
      int const parts = sums ? step.device_count() : 1 + below(4);
      for (int k = 0; k < parts; ++k) {
        job.parts.push_back({sums ? k : device, 1 + below(6)});
        add_inputs(jobs, edges, {pass_kind::work, number, k}, job.parts.back().device);
      }
      if (!sums) {
        job.keeps_state = below(2) == 0;
        continue;
      }
      work_job& sum = jobs.emplace_back();
      sum.kind = job_kind::all_reduce;
      for (int k = 0; k < parts; ++k) {
        sum.parts.push_back({k, 2});
        edges.push_back({{pass_kind::work, number, k}, {pass_kind::work, number + 1, k}});
        summed_.push_back({pass_kind::work, number, k});
      }
    }
    work = work_graph(jobs, edges);
  }

  schedule step;
  work_graph work;

 private:
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }

  void add_inputs(std::vector<work_job> const& jobs, std::vector<work_edge>& edges, pass to,
                  int device) {
    for (timed_pass const& t : step.order[static_cast<std::size_t>(device)]) {
      bool forgets = t.what.kind == pass_kind::backward_weight;
      for (timed_pass const& other : step.order[static_cast<std::size_t>(device)])
        forgets = forgets
                  || (t.what.kind == pass_kind::forward
                      && other.what == pass{pass_kind::recompute, t.what.stage, t.what.micro_batch});
      if (!forgets && below(8) == 0) edges.push_back({t.what, to});
    }
    for (int job = 0; job < to.stage; ++job)
      for (std::size_t k = 0; k < jobs[static_cast<std::size_t>(job)].parts.size(); ++k) {
        pass const from{pass_kind::work, job, static_cast<int>(k)};
        bool is_summed = false;
        for (pass s : summed_) is_summed = is_summed || s == from;
        if (!is_summed && jobs[static_cast<std::size_t>(job)].parts[k].device == device && below(6) == 0)
          edges.push_back({from, to});
      }
  }

  std::mt19937_64 engine_;
  std::vector<pass> summed_;
};

tick ticks_of_work(work_graph const& work, int device) {
  tick sum = 0;
  for (work_job const& j : work.jobs())
    for (work_part const& p : j.parts)
      if (p.device == device && j.kind == job_kind::compute) sum += p.duration;
  return sum;
}

// Whether the parts of a device that are left can all be placed in these gaps, trying every order and
// every gap. `times` is left as it was.
bool fits_somehow(part_times& times, int device, std::vector<idle_time> const& gaps) {
  bool all_placed = true;
  for (int number = 0; number < times.count(); ++number) {
    if (times.device(number) != device || times.is_placed(number)) continue;
    all_placed = false;
    if (times.ready(number) == part_times::never) continue;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      tick const start = std::max(times.ready(number), gaps[i].start);
      if (start + times.duration(number) > gaps[i].end) continue;
      std::vector<idle_time> rest = gaps;
      rest[i].end = start;
      rest.push_back({start + times.duration(number), gaps[i].end});
      times.place(number, start);
      bool const found = fits_somehow(times, device, rest);
      times.place(number, part_times::never);
      if (found) return true;
    }
  }
  return all_placed;
}

}  // namespace

TEST_CASE("exact takes as few steps as trying everything finds, and best_fit no fewer") {
  int compared = 0, more = 0;
  for (int seed = 1; seed <= random_cases(1200); ++seed) {
    CAPTURE(seed);
    random_filling const r(static_cast<std::uint64_t>(seed));
    part_times times(r.step, r.work.view());
    std::vector<int> parts(r.step.order.size(), 0);
    bool is_for_it = true;
    for (int number = 0; number < times.count(); ++number)
      is_for_it = is_for_it && !times.is_collective(number)
                  && ++parts[static_cast<std::size_t>(times.device(number))] <= 5;
    for (bool interlocked : {false, true}) {
      fill_options o{.policy = fill_policy::exact, .interlocked = interlocked};
      for (bool is_long : find_long_parts(r.step, makespan(r.step), times, o))
        is_for_it = is_for_it && !is_long;
      if (!is_for_it) continue;
      filling const best = fill_steps(r.step, r.work, o);
      CHECK(check(best.filled).ok());
      o.policy = fill_policy::best_fit;
      std::vector<int> const packed = fill_steps(r.step, r.work, o).steps;
      std::vector<int> const bound = step_bound(r.step, best.step, times, o);
      for (std::size_t d = 0; d < packed.size(); ++d) {
        CHECK(packed[d] >= best.steps[d]);
        CHECK(best.steps[d] >= bound[d]);
        more += packed[d] > best.steps[d];
        ++compared;
        std::vector<idle_time> gaps;
        for (int i = 0; i + 1 < best.steps[d]; ++i)
          for (idle_time const& g : step_gaps(r.step, static_cast<int>(d), best.step, interlocked))
            gaps.push_back({g.start + i * best.step, g.end + i * best.step});
        if (best.steps[d] > 1) CHECK(!fits_somehow(times, static_cast<int>(d), gaps));
      }
    }
  }
  CHECK(compared > 200);
  CHECK(20 * more <= compared);
}

TEST_CASE("filling moves no pass, keeps all work, puts nothing before its inputs, over anything") {
  for (int seed = 1; seed <= random_cases(600); ++seed) {
    CAPTURE(seed);
    random_filling const r(static_cast<std::uint64_t>(seed));
    tick const length = makespan(r.step);
    for (fill_options const& o : {fill_options{.policy = fill_policy::first_fit}, fill_options{},
                                  fill_options{.margin = 20}, fill_options{.interlocked = true}}) {
      filling const f = fill_steps(r.step, r.work, o);
      CHECK(check(f.filled).ok());
      CHECK(early_work(f.filled).empty());
      CHECK(f.step == length);
      int steps = 1;
      for (std::size_t d = 0; d < f.steps.size(); ++d) {
        steps = std::max(steps, f.steps[d]);
        int const device = static_cast<int>(d);
        CHECK(busy(f.filled)[d]
              == f.filled.micro_batch_count() / r.step.micro_batch_count() * busy(r.step)[d]
                     + ticks_of_work(r.work, device));
      }
      schedule without = f.filled;
      for (auto& order : without.order) {
        std::vector<timed_pass> own;
        for (timed_pass const& t : order)
          if (t.what.kind != pass_kind::work) own.push_back(t);
        order = own;
      }
      without.work = {};
      CHECK(without == repeated(r.step, steps));
      CHECK(check(lower(f.filled)).ok());
    }
    CHECK(fill(r.step, {}) == r.step);
  }
}

TEST_CASE("best_fit takes at least its bound, and without sums no more steps than first_fit") {
  for (int seed = 1; seed <= random_cases(600); ++seed) {
    CAPTURE(seed);
    random_filling const r(static_cast<std::uint64_t>(seed));
    filling const best = fill_steps(r.step, r.work);
    part_times const times(r.step, r.work.view());
    std::vector<int> const bound = step_bound(r.step, best.step, times, {});
    filling const first = fill_steps(r.step, r.work, {.policy = fill_policy::first_fit});
    bool has_sums = false;
    for (work_job const& j : r.work.jobs()) has_sums = has_sums || j.kind == job_kind::all_reduce;
    for (std::size_t d = 0; d < bound.size(); ++d) {
      CHECK(best.steps[d] >= bound[d]);
      bool leaves_rest = false;  // after its steps
      for (timed_pass const& t : first.filled.order[d])
        leaves_rest =
            leaves_rest || (t.what.kind == pass_kind::work && t.start >= first.steps[d] * first.step);
      if (!has_sums && !leaves_rest) CHECK(best.steps[d] <= first.steps[d]);
    }
  }
}

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
  for (work_job const& j : jobs) o.work_bytes.push_back({10 * size(), j.keeps_state ? size() : 0});
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

// On each device three pairs, of which the second reads what the first hands on, and one that reads the
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
    for (work_job const& j : r.work.jobs()) has_sums = has_sums || j.kind == job_kind::all_reduce;
    if (has_sums || !recomputed_stages(r.step).empty()) continue;
    fill_options const o =
        random_sizes(static_cast<std::uint64_t>(seed), r.step.stage_count(), r.work.jobs());
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
    fill_options o = random_sizes(static_cast<std::uint64_t>(seed), step.stage_count(), work.jobs());
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

TEST_CASE("best_fit takes at least its bound; interlocked periods follow each other without a pause") {
  for (int seed = 1; seed <= random_cases(600); ++seed) {
    CAPTURE(seed);
    random_filling const r(static_cast<std::uint64_t>(seed));
    part_times const times(r.step, r.work.view());
    fill_options const o{.interlocked = true};
    dynamic_array<bool> const is_long = find_long_parts(r.step, makespan(r.step), times, o);
    filling const f = fill_steps(r.step, r.work, o);
    std::vector<int> const bound = step_bound(r.step, f.step, times, o);
    int steps = 1;
    bool any_long = false;
    for (std::size_t d = 0; d < bound.size(); ++d) {
      CHECK(f.steps[d] >= bound[d]);
      steps = std::max(steps, f.steps[d]);
    }
    for (bool each : is_long) any_long = any_long || each;
    if (any_long) continue;
    CHECK(check(merge(f.filled, shift(f.filled, steps * f.step))).ok());
    for (int d = 0; d < r.step.device_count(); ++d) CHECK(utilisation(f, d) <= 1);
  }
}

// Properties that filling keeps.
#include "random_cases.hpp"
#include "random_filling.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/fill.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/work_lists.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace ashlar;

namespace {

tick ticks_of_work(work_graph const& work, int device) {
  tick sum = 0;
  for (work_job const& j : jobs_of(work))
    for (work_part const& p : j.parts)
      if (p.device == device && j.does.is<compute_job>()) sum += p.duration;
  return sum;
}

// Whether the rest of a device's parts can all be placed in these gaps, trying every order and every
// gap. `times` is left as it was.
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
        std::vector<time_slot> own;
        for (time_slot const& t : order)
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
    for (work_job const& j : jobs_of(r.work)) has_sums = has_sums || j.does.is<all_reduce_job>();
    for (std::size_t d = 0; d < bound.size(); ++d) {
      CHECK(best.steps[d] >= bound[d]);
      bool leaves_rest = false;  // after its steps
      for (timed_pass const t : each_pass(first.filled.order[d]))
        leaves_rest =
            leaves_rest || (t.what.kind == pass_kind::work && t.start >= first.steps[d] * first.step);
      if (!has_sums && !leaves_rest) CHECK(best.steps[d] <= first.steps[d]);
    }
  }
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

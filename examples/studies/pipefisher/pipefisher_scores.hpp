// Published filling, and best_fit held against it and against the bound.
#pragma once

#include "../report.hpp"
#include "pipefisher_work.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/fill/early_work.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/step_bound.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/schedule/compose.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace systems {

using namespace ashlar;

inline constexpr int margin = 5;

inline filling published(instance const& i) {
  return fill_steps(
      i.step, i.work,
      {.policy = fill_policy::first_fit, .ready = fill_readiness::published_counts, .margin = margin});
}

// Returns percent. A job that is left when a step has taken nothing is appended whole, and counts whole,
// though pieces of it may have been placed before.
inline double published_utilisation(instance const& i, filling const& f, int device) {
  auto const d = static_cast<std::size_t>(device);
  tick const end = f.steps[d] * f.step;
  tick busy = 0;
  std::set<int> left;
  for (time_slot const& t : f.filled.order[d])
    if (t.start < end)
      busy += f.filled.end_of(t, device) - t.start;
    else if (is_part(t.what))
      left.insert(part_of(t.what).job);
  for (int job : left) busy += i.events[static_cast<std::size_t>(job)].duration;
  return 100 * static_cast<double>(busy) / static_cast<double>(end);
}

struct best_fit_score {
  std::size_t devices = 0, not_worse = 0;
  std::size_t impossible = 0;  // fewer steps than published work after its inputs can take
};

// Checks the properties of best_fit.
inline void hold_best_fit(instance const& i, std::vector<int> const& published_steps,
                          std::string const& name, bool interlocked, report& r, best_fit_score& score) {
  fill_options o{.policy = fill_policy::best_fit, .margin = margin, .interlocked = interlocked};
  filling const best = fill_steps(i.step, i.work, o);
  r.holds(name + "best_fit places nothing before its inputs", early_work(best.filled).empty());
  part_times const times(i.step, i.work.view());
  std::vector<int> const bound = step_bound(i.step, best.step, times, o);
  o.policy = fill_policy::first_fit;
  std::vector<int> const first = fill_steps(i.step, i.work, o).steps;
  std::vector<bool> has_early(best.steps.size(), false);
  for (diagnosis const& d : early_work(published(i).filled))
    has_early[static_cast<std::size_t>(d.first.device)] = true;
  int const period = *std::max_element(best.steps.begin(), best.steps.end());
  if (interlocked)
    r.holds(name + "periods of best_fit follow each other without a pause",
            check(merge(best.filled, shift(best.filled, period * best.step))).ok());
  for (std::size_t d = 0; d < best.steps.size(); ++d) {
    std::string const on = " on device " + std::to_string(d);
    tick work = 0, idle = best.step;
    for (work_job const& j : jobs_of(i.work))
      for (work_part const& p : j.parts)
        if (p.device == static_cast<int>(d)) work += p.duration;
    for (time_slot const& t : i.step.order[d]) idle -= i.step.end_of(t, static_cast<int>(d)) - t.start;
    r.holds(name + "best_fit is not below the bound" + on,
            idle * best.steps[d] >= work && best.steps[d] >= bound[d]);
    r.holds(name + "best_fit takes no more steps than first_fit" + on, best.steps[d] <= first[d]);
    bool const is_impossible = published_steps[d] < bound[d];
    r.holds(name + "what is published and below the bound is not in order" + on,
            !is_impossible || has_early[d]);
    ++score.devices;
    score.not_worse += best.steps[d] <= published_steps[d];
    score.impossible += is_impossible;
  }
}

// Scores with interlocked steps and without.
struct best_fit_scores {
  best_fit_score alone, interlocked;

  void add(instance const& i, std::vector<int> const& published_steps, std::string const& name,
           report& r) {
    hold_best_fit(i, published_steps, name, false, r, alone);
    hold_best_fit(i, published_steps, name + "interlocked, ", true, r, interlocked);
  }
};

}  // namespace systems

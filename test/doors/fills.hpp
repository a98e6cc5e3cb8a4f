// Work in the gaps of schedules, and work on values across micro-batches.
#pragma once

#include "doors/limits.hpp"
#include <ashlar/fill/early_work.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/step_bound.hpp>
#include <ashlar/values/balance.hpp>
#include <ashlar/values/clip.hpp>
#include <ashlar/values/coverage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace doors {

// Pieces that read forwards on device 0, and one that reads the last of them; changed.
inline work_graph some_work(dice& d) {
  std::vector<work_job> jobs{{.parts = {{0, 2}, {0, 1}}, .does = compute_job{.state = own_state{}}},
                             {.parts = {{0, d.between(1, 9)}}}};
  work_graph work(jobs, {{{pass_kind::forward, 0, 0}, {pass_kind::work, 0, 0}},
                         {{pass_kind::work, 0, 1}, {pass_kind::work, 1, 0}}});
  for (int changes = d.between(0, 3); changes > 0; --changes) change_work(d, work);
  return work;
}

inline fill_options some_fill_options(dice& d) {
  fill_options o{.policy = any_of<fill_policy>(d, 2),
                 .ready = any_of<fill_readiness>(d, 1),
                 .margin = d.percent(80) ? d.between(0, 50) : extreme(d, 10),
                 .interlocked = d.percent(50),
                 .period = d.percent(80) ? d.between(0, 6) : extreme(d, 2)};
  if (d.percent(30)) o.limit = some_limit(d);
  if (d.percent(30)) o.work_bytes.resize(static_cast<std::size_t>(d.between(1, 3)), {1, 1});
  if (d.percent(30)) put(d, o.work_bytes, &job_bytes::output);
  if (d.percent(30)) put(d, o.work_bytes, &job_bytes::state);
  return o;
}

inline void of_fills(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  work_graph const work = some_work(d);
  fill_options const o = some_fill_options(d);
  knock([&] {
    filling const f = fill_steps(s, work, o);
    bool const may_be_early =
        o.policy == fill_policy::first_fit && o.ready == fill_readiness::published_counts;
    demand(may_be_early || check(f.filled).ok());
    demand(o.limit.budget.empty() || check_limit(f.filled, s.work.job_count(), o).ok());
    for (int device = 0; device < s.device_count(); ++device) {
      double const used = utilisation(f, device);
      demand(used >= 0 && used <= 1);
    }
  });
  knock([&] { early_work(s); });
  knock([&] {
    filling f{s, std::vector<int>(static_cast<std::size_t>(d.between(0, 3)), extreme(d, 1)),
              extreme(d, tick{9})};
    utilisation(f, extreme(d, 0));
  });

  stage_id const stage{extreme(d, 0)};
  tick const delay = extreme(d, tick{2});
  knock([&] {
    double const mean = mean_coverage(s, stage, delay);
    demand(mean >= 0 && mean <= 1);
  });
  knock([&] { coverage(s, stage, micro_batch_id{extreme(d, 0)}, delay); });
  clipping_costs clipping;
  tick clipping_costs::*const parts[] = {&clipping_costs::take, &clipping_costs::scale,
                                         &clipping_costs::give, &clipping_costs::norm,
                                         &clipping_costs::minimum};
  if (d.percent(40)) clipping.*parts[d.between(0, 4)] = extreme(d, tick{1});
  knock([&] { demand_valid(clip_micro_batches(s, clipping)); });
  balancing_costs balancing;
  tick balancing_costs::*const own[] = {&balancing_costs::count, &balancing_costs::add,
                                        &balancing_costs::show, &balancing_costs::all_reduce};
  if (d.percent(40)) balancing.*own[d.between(0, 3)] = extreme(d, tick{1});
  std::vector<int> stages(static_cast<std::size_t>(d.between(0, 3)));
  for (int& each : stages) each = d.percent(80) ? d.between(0, 2) : extreme(d, 1);
  knock([&] { demand_valid(balance_experts(s, stages, any_of<balance_scope>(d, 2), balancing)); });
}

}  // namespace doors

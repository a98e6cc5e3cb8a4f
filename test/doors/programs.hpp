// Makes programs from schedules, proofs of programs, simulations, and what stands before a run.
#pragma once

#include "doors/knock.hpp"
#include "extreme_program.hpp"
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/for_backend.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/window.hpp>
#include <ashlar/run/identity.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace doors {

inline lower_options some_lower_options(dice& d) {
  lower_options o;
  if (d.percent(50)) return o;
  o = {.lanes = any_of<transfer_lanes>(d, 2),
       .data_ranks = d.percent(80) ? d.between(1, 3) : extreme(d, 1),
       .reduction = any_of<gradient_reduction>(d, 2),
       .sharding = any_of<sharding_level>(d, 4),
       .weight_buffers = d.percent(80) ? d.between(1, 3) : extreme(d, 1),
       .prefetch = d.percent(80) ? d.between(0, 3) : extreme(d, 1),
       .step = any_of<optimizer_step>(d, 2),
       .transfers = any_of<transfer_order>(d, 1),
       .slots = any_of<slot_reuse>(d, 1)};
  for (int leave = d.percent(30) ? d.between(0, 3) : 0; leave > 0; --leave)
    o.offload.forwards.push_back({d.percent(90) ? pass_kind::forward : any_of<pass_kind>(d, 5),
                                  d.percent(90) ? d.between(0, 3) : extreme(d, 0),
                                  d.percent(90) ? d.between(0, 3) : extreme(d, 0)});
  for (int times = d.percent(30) ? d.between(0, 3) : 0; times > 0; --times)
    o.offload.copy.push_back(d.percent(90) ? d.between(0, 3) : extreme(d, tick{1}));
  for (int lists = d.between(0, 2); lists > 0; --lists) {
    o.shared_parameters.emplace_back(static_cast<std::size_t>(d.between(0, 3)));
    for (int& stage : o.shared_parameters.back())
      stage = d.percent(90) ? d.between(0, 3) : extreme(d, 0);
  }
  return o;
}

inline simulation_options some_simulation_options(dice& d) {
  simulation_options o;
  o.memory.stages[0] = {.weights = 2, .activation = 3, .gradient = 3, .stash = 2, .weight_stash = 1};
  o.mode = any_of<transfer_mode>(d, 1);
  o.issue = any_of<issue_mode>(d, 1);
  o.latency_holds_lane = d.percent(50);
  o.cost.on.links.inside = o.cost.on.collective = {d.between(0, 2), d.between(0, 2)};
  if (d.percent(20)) o.data_ranks = extreme(d, 1);
  if (d.percent(20)) o.optimizer = extreme(d, tick{1});
  if (d.percent(20)) o.cost.on.collective = {extreme(d, tick{1}), extreme(d, tick{1})};
  if (d.percent(30)) change_cost(d, o.cost);
  if (d.percent(30)) change_memory(d, o.memory);
  if (d.percent(20)) o.work_bytes.resize(static_cast<std::size_t>(d.between(0, 3)), {1, 1});
  if (d.percent(20)) put(d, o.work_bytes, &job_bytes::output);
  return o;
}

// A worker that has every verb and does nothing.
struct idle_worker {
  std::size_t bytes = 8;

  value_layout layout(value_key) const { return {bytes, 8, element_type::f64}; }
  void forward(auto&, frame const&) const {}
  void recompute(auto&, frame const&) const {}
  void backward(auto&, frame const&) const {}
  void backward_input(auto&, frame const&) const {}
  void backward_weight(auto&, frame const&) const {}
  void work(auto&, frame const&) const {}
  void measure(auto&, parameter_frame const&) const {}
  void optimize(auto&, parameter_frame const&) const {}
};

inline void of_programs(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  lower_options const how = some_lower_options(d);
  program p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  bool is_of_s = false;
  knock([&] {
    p = lower(s, how);
    demand(check(p).ok());
    is_of_s = how == lower_options{};
  });
  program const made = p;
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, p);
  bool const is_proved = check(p).ok();
  int const window = d.percent(80) ? d.between(0, 9) : extreme(d, 2);
  // If the order is right, every window is.
  demand(check_window(p, window).ok() == (is_proved && window >= 1));
  check_window(p.view(), window);
  simulation_options const o = some_simulation_options(d);
  timeline line;
  knock([&] {
    simulation const sim = simulate(p, o);
    line = sim.line;
    for (device_usage const& u : sim.usage)
      demand(u.busy >= 0 && u.warm_up >= 0 && u.steady >= 0 && u.cool_down >= 0 && u.exposed >= 0
             && u.busy + u.idle() == sim.makespan());
    for (device_memory const& m : sim.memory)
      demand(m.resident >= 0 && m.resident <= m.peak && (!is_proved || m.peak <= m.reserved));
    if (is_of_s && p == made)
      if (auto const least = program_bound(s, p, o)) demand(sim.makespan() >= least->makespan);
  });
  knock([&] { link_slacks(p, o); });
  knock([&] { program_bound(s, p, o); });
  if (!line.timed.empty()) {
    if (d.percent(50)) put(d, line.timed, &timed_instruction::cause);
    if (d.percent(50)) put(d, line.timed, &timed_instruction::end);
    if (d.percent(20)) line.timed.pop_back();
  }
  if (d.percent(20)) line.makespan = extreme(d, line.makespan);
  knock([&] { critical_path(line); });
  knock([&] { usage_of(p, line); });
  knock([&] { memory_over_time(p, line, o); });
  knock([&] { pytorch_obstacle(p); });
  if (is_proved && pytorch_obstacle(p).empty()) pytorch_comms_csv(p, any_of<csv_dialect>(d, 4));
  idle_worker w;
  knock([&] {
    if (p.data_ranks > 3) return;  // as many workers, too
    std::vector<idle_worker*> const ranks(static_cast<std::size_t>(std::max(p.data_ranks, 0)), &w);
    try {
      sequential(p, ranks).run();
    } catch (std::invalid_argument const&) {
    }
  });
  if (is_proved) identity_of(p.view(), w);
}

}  // namespace doors

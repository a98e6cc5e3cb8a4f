// The passes of all devices one after another.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/model/work_view.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>

namespace ashlar {

// Runs, in sweep after sweep over the devices, the next pass or pair of each if the inputs are there.
// Calls run(device, index) for each slot: no pass is run before what it waits for, at any starts. Inputs
// that no pass of the schedule gives count as present. Returns what check_slots(s) finds wrong, before
// any run, and where the orders wait for each other in a cycle (rule::order_has_no_cycle, with the first
// pass that waits). Linear in the passes, and in sweeps times devices.
template <class Run>
constexpr diagnosis take_turns(schedule const& s, Run run) {
  if (diagnosis const d = check_slots(s); !d.ok()) return d;
  work_view const work = s.work.view();
  pass_table<char> pending(s.stage_count(), s.micro_batch_count(), work, 0);
  std::size_t left = 0;
  for (auto const& order : s.order) {
    left += order.size();
    for (timed_pass const t : each_pass(order)) pending.at(t.what) = 1;
  }
  dynamic_array<std::size_t> next(s.order.size(), 0);
  while (left > 0) {
    std::size_t const before = left;
    diagnosis stuck;
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      if (next[d] == s.order[d].size()) continue;
      time_slot const& t = s.order[d][next[d]];
      bool ready = true;
      for (pass const* what = &t.what; what != nullptr; what = t.after(what)) {
        for_each_input(s.graph, *what, [&](result r, int stage, int micro_batch) {
          ready = ready && pending.at(micro_batch, stage, r) == 0;
        });
        for_each_work_input(work, *what, [&](pass from, tick) {
          ready = ready && (!s.knows(from) || pending.at(from) == 0);
        });
      }
      if (!ready) {
        if (stuck.ok())
          stuck = {
              .broken = rule::order_has_no_cycle,
              .first = {
                  .device = static_cast<int>(d), .index = static_cast<int>(next[d]), .what = t.what}};
        continue;
      }
      run(d, next[d]);
      for (pass const* what = &t.what; what != nullptr; what = t.after(what)) pending.at(*what) = 0;
      ++next[d];
      --left;
    }
    if (left == before) return stuck;
  }
  return {};
}

}  // namespace ashlar

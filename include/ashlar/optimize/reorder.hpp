// schedule -> schedule: other orders of warm-up and cool-down. Qi et al., Controllable Memory (2024),
// section 2: repeat, squeeze, reorder.
#pragma once

#include <ashlar/core/pipe.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <vector>

namespace ashlar {

// Most chunk activations on any device.
constexpr int peak_of_all(schedule const& s) {
  int most = 0;
  for (int peak : peak_activations(s)) most = peak > most ? peak : most;
  return most;
}

// Sorts anew what each device does before its first backward and after its last forward; between, its
// order stays. No device holds more than the one that held most before; neither makespan nor span grows.
// Squeezed. A dozen dispatches. Throws as squeeze() and the list scheduler do.
constexpr schedule reorder(schedule const& s) {
  schedule const before = squeeze(s);
  justifier search(before, chunk_activations(peak_of_all(before)), search_budget{});
  list_scheduler::plan const planned = search.passes().orders;
  for (int window : {2, 4, 16}) {
    dispatch_rule const at_ends{.window = window, .ends_only = true};
    search.justify(planned, {at_ends, at_ends, at_ends});
  }
  if (!search.found()) return before;
  schedule after = search.result();
  return makespan(after) <= makespan(before) && span(after) <= span(before) ? after : before;
}

constexpr auto reorder() {
  return closure([](schedule const& s) { return reorder(s); });
}

}  // namespace ashlar

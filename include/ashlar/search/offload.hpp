// What leaves of a schedule for the hosts of its devices: what lives longest first, as far as the links
// take it beside compute.
#pragma once

#include <ashlar/core/machine.hpp>
#include <ashlar/lower/host_copies.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// What leaves, and what devices hold then.
struct offload_choice {
  offload_options offload = {};
  std::vector<byte_count> peak = {};  // by device: what lies there all the time, and what passes keep
  std::vector<byte_count> host_peak = {};  // by device: of what is on its host
  bool fits = true;                        // whether no device holds more than the limit
};

// The ticks that a copy of what a stage keeps takes over the link, one way: of its largest micro-batch.
// Throws violation: rule::counts_are_positive, rule::parameter_is_at_most, check(memory), check(host).
std::vector<tick> copy_times(memory_model const& memory, int stage_count, host_link const& host);

// Values until each device is within its budget: at the first moment at which most is held, the value
// that lives longest of those that can be away then and back in time. (PipeOffload's selective choice:
// Wan, Qi, Huang, Lin, 2025.) No pass waits for a copy. If there are not enough of these, `fits` is
// false. Of a valid schedule for training; what work reads stays. Throws violation: check(s),
// check(limit.memory), check(host), rule::tables_agree for budgets. O(n² log n) in the passes of a
// device.
offload_choice selective_offload(schedule const& s, memory_limit const& limit, host_link const& host);

// The choice for the first of fixed links, from the given one on to slower ones, for which it fits: so
// it fits for every faster link, too, which is not so of selective_offload(). What is chosen over a
// slower link is away for longer over a faster one. Throws as selective_offload().
offload_choice steady_offload(schedule const& s, memory_limit const& limit, host_link const& host);

// Just what these forwards keep leaves: `fits` unless a pass would wait for it, or a device holds more
// than the limit. Throws as selective_offload(), and rule::every_pass_is_known for what is no forward of
// the schedule, rule::no_pass_is_doubled, rule::what_leaves_comes_back for what work reads.
offload_choice offload_exactly(schedule const& s, memory_limit const& limit, host_link const& host,
                               std::vector<pass> const& forwards);

// At most this share of what the forwards of each device keep, in percent, whatever devices may hold:
// first what helps where most is held, what lives longest first, and only what comes back in time.
// Throws violation: check(s), check(memory). O(n² log n) in the passes of a device.
offload_choice offload_share(schedule const& s, memory_model const& memory, host_link const& host,
                             int percent);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/offload.ipp>
#endif

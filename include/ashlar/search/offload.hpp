// Values of a schedule that leave for the hosts of its devices: those that live longest first, if the
// links copy them during compute.
#pragma once

#include <ashlar/core/machine.hpp>
#include <ashlar/lower/host_copies.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Values that leave, and peaks of memory then.
struct offload_choice {
  offload_options offload = {};
  std::vector<byte_count> peak = {};  // by device: memory that is always taken, and values of passes
  std::vector<byte_count> host_peak = {};  // by device: memory on its host
  bool fits = true;                        // whether no device holds more than the limit
};

// The ticks that a copy of a stage's values takes over the link, one way, for its largest micro-batch.
// Throws violation: rule::counts_are_positive, rule::parameter_is_at_most, check(memory), check(host).
std::vector<tick> copy_times(memory_model const& memory, int stage_count, host_link const& host);

// Chooses values until each device is within its budget: at the first moment at which most is held, the
// value that lives longest of those that can be away then and back in time. (PipeOffload's selective
// choice: Wan, Qi, Huang, Lin, 2025.) No pass waits for a copy. If there are not enough of these, `fits`
// is false. The schedule is valid and trains; values that work reads stay. Throws violation: check(s),
// check(limit.memory), check(host), rule::tables_agree for budgets. O(n² log n) in the passes of a
// device.
offload_choice selective_offload(schedule const& s, memory_limit const& limit, host_link const& host);

// The choice for the first of fixed links, from the given one on to slower ones, for which it fits: so
// it fits for every faster link, too, which is not so of selective_offload(). A value chosen over a
// slower link is away for longer over a faster one. Throws as selective_offload().
offload_choice steady_offload(schedule const& s, memory_limit const& limit, host_link const& host);

// Offloads just the values of these forwards: `fits` unless a pass would wait for it, or a device holds
// more than the limit. Throws as selective_offload(), and rule::every_pass_is_known for any other than a
// forward of the schedule, rule::no_pass_is_doubled, rule::what_leaves_comes_back for values that work
// reads.
offload_choice offload_exactly(schedule const& s, memory_limit const& limit, host_link const& host,
                               std::vector<pass> const& forwards);

// Offloads at most this share of the values of each device's forwards, in percent, with any budget:
// first those that help where most is held, the longest-lived first, and only if they come back in time.
// Throws violation: check(s), check(memory). O(n² log n) in the passes of a device.
offload_choice offload_share(schedule const& s, memory_model const& memory, host_link const& host,
                             int percent);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/offload.ipp>
#endif

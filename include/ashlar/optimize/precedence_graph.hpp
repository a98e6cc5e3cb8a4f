// The passes of a schedule by number, and their waits.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

struct precedence_graph {
  using device_orders = std::vector<std::vector<int>>;  // by device, passes by number
  static constexpr int nobody = -1;

  device_orders orders;  // as in the schedule
  dynamic_array<pass> what;
  std::vector<int> device;
  std::vector<tick> length;
  std::vector<byte_count> takes, gives;  // of its device's memory, at the start and end of a pass
  // As `gives`, if every stash stayed until its weight pass; empty where it does.
  std::vector<byte_count> late_gives;
  dynamic_array<std::uint64_t> stream;  // a bit for each stage and kind of a device, shared beyond 64
  lists<int> needs, feeds;              // of each pass

  // Throws violation: rule::every_pass_is_known for a pass out of range,
  // rule::overlapped_passes_are_a_pair for schedules with pairs: they cannot be dispatched.
  precedence_graph(schedule const& s, memory_model const& memory);

  // The orders of another schedule of the same passes on the same devices. Throws violation:
  // rule::tables_agree for other numbers of stages, micro-batches or devices, rule::every_pass_is_known
  // where it has another pass, rule::pass_is_on_its_device, rule::every_pass_is_present.
  device_orders orders_of(schedule const& s) const;

 private:
  int stage_count_, micro_batch_count_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/precedence_graph.ipp>
#endif

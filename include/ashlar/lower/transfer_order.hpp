// The order of a device's transfers.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/turns.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The order of a device's transfers.
enum class transfer_order : unsigned char {
  finish_time,  // by the end of the producer in the schedule (transfer_events.hpp)
  asap,         // as frameworks list them: each right after its producer, passes taken by turns
};

// Keeps the orders, at times at which only one device runs. In sweep after sweep over the devices, each
// runs its next pass if the inputs are there. A transfer at the end of its producer then stands right
// after it on its device, and on the peer after everything listed there so far. This is the order that
// results from listing a pass, its send, and at once the receive, as `_add_send_recv` of PyTorch's
// torch.distributed.pipelining does. The schedule must be valid. Linear in the passes, and in sweeps
// times devices.
constexpr schedule one_by_one(schedule s) {
  s.cost = costs(stage_cost{});
  std::vector<std::vector<time_slot>> order = s.order;
  tick now = 0;
  diagnosis const cycle = take_turns(s, [&](std::size_t d, std::size_t index) {
    order[d][index].start = now;
    now = s.end_of(order[d][index], static_cast<int>(d));
  });
  if (!cycle.ok()) refuse(cycle);
  s.order = static_cast<std::vector<std::vector<time_slot>>&&>(order);
  return s;
}

}  // namespace ashlar

// The order of a device's transfers.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

enum class transfer_order : unsigned char {
  finish_time,  // by the time at which the schedule has the producer end: what transfers.hpp explains
  asap,         // as frameworks list them: each right after its producer, passes taken by turns
};

// The same orders on a timeline on which only one device runs at a time. In sweep after sweep over the
// devices, each runs its next pass if the inputs are there. A transfer at the end of its producer then
// stands right after it on its device, and on the peer after whatever has been listed there. This is the
// order that results from listing a pass, its send, and at once the receive, as `_add_send_recv` of
// PyTorch's torch.distributed.pipelining does. The schedule must be valid. Linear in the passes, and in
// sweeps times devices.
constexpr schedule one_by_one(schedule s) {
  s.cost = costs(stage_cost{});
  pass_table<char> pending(s.stage_count(), s.micro_batch_count(), s.work.view(), 0);
  std::size_t left = 0;
  for (auto const& order : s.order)
    for (timed_pass const& t : order) {
      ++left;
      pending.at(t.what) = 1;
    }
  dynamic_array<std::size_t> next(s.order.size(), 0);
  tick now = 0;
  while (left > 0) {
    std::size_t const before = left;
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      if (next[d] == s.order[d].size()) continue;
      timed_pass* const t = &s.order[d][next[d]];
      std::size_t const together = t->opens_pair() ? 2 : 1;
      bool ready = true;
      for (std::size_t i = 0; i < together; ++i) {
        for_each_input(s.graph, t[i].what, [&](result r, int stage, int micro_batch) {
          ready = ready && pending.at(micro_batch, stage, r) == 0;
        });
        for_each_work_input(s.work.view(), t[i].what,
                            [&](pass from, tick) { ready = ready && pending.at(from) == 0; });
      }
      if (!ready) continue;
      for (std::size_t i = 0; i < together; ++i) {
        t[i].start = now;
        pending.at(t[i].what) = 0;
      }
      now = s.end_of(*t, static_cast<int>(d));
      next[d] += together;
      left -= together;
    }
    if (left == before) refuse({.broken = rule::order_has_no_cycle});
  }
  return s;
}

}  // namespace ashlar

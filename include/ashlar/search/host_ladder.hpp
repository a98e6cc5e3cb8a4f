// Links of fixed speeds between devices and their hosts, with which copies are planned for every link
// that is no slower.
#pragma once

#include <ashlar/core/machine.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/memory_model.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ashlar {

// The links beside a given one. Each is named by the ticks that the largest copy takes over it beside
// the latency; the latency is the given link's. A result for all that are no faster than the given link
// holds for any faster one, too: so a search that tries just these finds nothing worse there.
class host_ladder {
 public:
  // Memory and link are valid.
  host_ladder(memory_model const& memory, int stage_count, host_link const& host) : host_(host) {
    for (int stage = 0; stage < stage_count; ++stage)
      for (int k = 0; k < memory.period(); ++k) {
        byte_count const kept = memory.of(stage, k).kept_by_forward();
        largest_ = std::max(largest_, kept);
        if (kept > 0) smallest_ = std::min(smallest_, kept);
      }
    if (largest_ > 0) {
      host_link bytes = host;
      bytes.speed.latency = 0;
      given_ = std::min(bytes.time_of(largest_), slowest());
    }
  }

  // Ticks over the given link.
  tick given() const { return given_; }
  // Ticks over the slowest link in a ladder.
  static constexpr tick slowest() { return tick{1} << 57; }
  // Ticks over the link over which the smallest copy takes `ticks`.
  tick where_smallest_takes(tick ticks) const {
    return largest_ == 0 ? 0 : std::min(proportional(largest_, ticks, smallest_), slowest());
  }
  // The link over which the largest copy takes `ticks`.
  host_link at(tick ticks) const {
    host_link link = host_;
    link.speed.bandwidth = ticks == 0 ? 0 : saturating_product(largest_, host_.shared_by);
    link.speed.period = std::max(ticks, tick{1});
    return link;
  }

  // The numbers of at most `digits` binary digits before zeros, from the ticks of the given link on up
  // to `last`.
  std::vector<tick> rungs(tick last, int digits) const {
    std::vector<tick> all;
    if (largest_ == 0) last = 0;
    for (tick next = given_; next <= last; ++next) {
      tick step = 1;
      while (next / step >> digits != 0) step *= 2;
      next = (next + step - 1) / step * step;
      if (next > last) break;
      all.push_back(next);
    }
    return all;
  }

 private:
  host_link host_;
  byte_count largest_ = 0, smallest_ = max_tick;  // of those that are no empty copies
  tick given_ = 0;
};

}  // namespace ashlar

// The memory of a device over time, held by steps and by the parts placed in them.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The memory of one device in one try to place its parts, readers after what they read or before. A part
// holds what it hands on, and keeps what it reads longer than the pipeline does: until the last reader
// that has a place has ended.
class placed_memory {
 public:
  // Refers to all. Without a budget everything fits.
  placed_memory(schedule const& step, tick length, work_view const& work, fill_options const& o)
      : step_(step), length_(length), work_(work), options_(o) {}

  bool is_limited() const { return !options_.limit.budget.empty(); }

  // Begins with `count` steps of a device, without parts. O(count * passes).
  void begin(int device, int count);

  // The most that is held while the part lies from `start` to `end`, and until its output is no longer
  // needed; 0 without a budget. O(levels * inputs).
  byte_count peak_with(part_id part, tick start, tick end) const;
  bool fits(byte_count peak) const { return !is_limited() || peak <= options_.limit.budget_of(device_); }

  // Places the part; returns that peak.
  byte_count hold(part_id part, tick start, tick end);

 private:
  struct value {
    tick until = 0;
    byte_count bytes = 0;
  };
  struct level {
    tick from = 0;
    byte_count bytes = 0;  // from then until the next level
  };

  // Adds a step. `first`: work reads its values.
  void add_step(tick shift, bool first);

  // Adds bytes from `from` on; no level lies after it.
  void set(tick from, byte_count more);

  // Both return the peak then.
  byte_count add(byte_count bytes, tick from, tick to);
  byte_count most(tick from, tick to) const;
  // Begins a level there.
  void cut(tick at);

  std::size_t index(pass what) const {
    return static_cast<std::size_t>(what.micro_batch) * stages_ + static_cast<std::size_t>(what.stage);
  }
  // For a sum, its summand here.
  value& value_of(pass what);
  tick end_of(pass what) const;

  schedule const& step_;
  tick length_;
  work_view work_;
  fill_options const& options_;
  int device_ = 0;
  std::size_t stages_ = 0;
  std::vector<value> stashes_, weight_stashes_;  // of the first step, by micro-batch and stage
  std::vector<value> outputs_;                   // by number
  std::vector<level> levels_;                    // in order of time
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/placed_memory.ipp>
#endif

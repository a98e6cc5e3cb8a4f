// The places of a device's gathers, releases, scatters and clears among its passes.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/residency.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The step stands before the device's pass number `before` (or after all passes).
// `time` is its place among the events between devices.
struct collective {
  int before;
  tick time;
  opcode code;
  int stage;
  int buffer;  // of the device, that a gather fills
};

// The gradient in a buffer is cleared when a run of weight passes of its stage begins, and scattered
// when that run ends.
struct collective_order {
  dynamic_array<collective> steps;  // in the order of the stream
  // by pass: 1 if it opens a pair that cannot overlap, because weights are gathered in between
  dynamic_array<char> split;
};

// Finds the collectives of one device of a schedule, in one pass over its order.
class collective_order_builder {
 public:
  // `passes`: those of the device.
  constexpr collective_order_builder(schedule const& s, int device, list_view<timed_pass> passes)
      : s_(s), device_(device), passes_(passes) {}

  // Takes the stays of weights, and for each stage the buffer of its gradient and whether that is
  // reduced at the end.
  //
  // Times ascend from one step to the next, and no step is earlier than the ends of the passes that it
  // waits for. So no cycle of waits can arise when the events between devices are merged in by time. At
  // equal times, steps that end a use come first, then the events, then gathers.
  template <class Buffer, class Late>
  constexpr collective_order build(std::vector<weight_stay> const& stays, int gradient_buffers,
                                   Buffer gradient_buffer, Late late) {
    made_.split = dynamic_array<char>(passes_.size(), 0);
    for (weight_stay const& stay : stays)
      if (closes_pair(passes_, stay.fetch)) nth(made_.split, stay.fetch - 1) = 1;
    for (weight_stay const& stay : stays) {
      add(stay.fetch, at(stay.fetch).start, opcode::all_gather, stay.stage, stay.buffer);
      after(opcode::release, {stay.stage, stay.last});
    }
    dynamic_array<use> gradients(static_cast<std::size_t>(gradient_buffers));
    for (int i = 0; i < size(); ++i) {
      pass const what = at(i).what;
      if (is_part(what) || !gives_weight_gradient(what.kind)) continue;
      use& g = nth(gradients, gradient_buffer(what.stage));
      if (g.stage != what.stage) {
        if (g.stage >= 0) after(opcode::reduce_scatter, g);
        clear(what.stage, i);
      }
      g = {what.stage, i};
    }
    for (use const& g : gradients) {
      if (g.stage < 0) continue;
      if (late(g.stage))
        add(size(), max_tick, opcode::reduce_scatter, g.stage);
      else
        after(opcode::reduce_scatter, g);
    }
    return in_order();
  }

 private:
  // The stage in a buffer, and the last pass that used it.
  struct use {
    int stage = -1;
    int last = -1;
  };

  constexpr int size() const { return static_cast<int>(passes_.size()); }
  constexpr timed_pass const& at(int i) const { return nth(passes_, i); }
  constexpr bool overlaps_next(int i) const {
    auto const at = static_cast<std::size_t>(i);
    return opens_pair(passes_, at) && made_.split[at] == 0;
  }

  constexpr void add(int before, tick time, opcode code, int stage, int into = 0) {
    made_.steps.push_back({before, time, code, stage, into});
  }
  // Writes it after the last pass of a use, and after the pass that it overlaps with.
  constexpr void after(opcode code, use const& u) {
    int const before = u.last + (overlaps_next(u.last) ? 2 : 1);
    tick const end = s_.end_of(at(u.last), device_);
    bool const early = before < size() && at(before).start < end;  // within a pair that is split
    add(before, early ? at(before).start : end, code, u.stage);
  }
  // Clears before the first pass that adds to the buffer, not within a pair.
  constexpr void clear(int stage, int first) {
    bool const overlaps = closes_pair(passes_, first) && overlaps_next(first - 1);
    int const before = overlaps ? first - 1 : first;
    add(before, at(before).start, opcode::clear, stage);
  }

  static constexpr bool begins_use(opcode code) {
    return code == opcode::all_gather || code == opcode::clear;
  }
  // Releases were added before scatters, and gathers before clears; they stay so.
  constexpr collective_order in_order() {
    merge_sort(made_.steps, [](collective const& a, collective const& b) {
      if (a.before != b.before) return a.before < b.before;
      return a.time != b.time ? a.time < b.time : !begins_use(a.code) && begins_use(b.code);
    });
    return std::move(made_);
  }

  schedule const& s_;
  int device_;
  list_view<timed_pass> passes_;
  collective_order made_;
};

}  // namespace ashlar

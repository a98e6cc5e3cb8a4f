// The places of a device's gathers, releases, scatters and clears among its passes.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The step stands before the device's pass number `before` (or after all passes).
// `time` is its place among the events between devices.
struct collective {
  int before = 0;
  tick time = 0;
  opcode code = opcode::all_gather;
  int stage = 0;
};

// Buffers are mapped directly, as in the simplest of caches. A stage is gathered whenever a pass needs
// it and its buffer holds another stage, and released after its last pass before the buffer changes
// hands. The gradient in a buffer is cleared when a run of weight passes of its stage begins, and
// scattered when that run ends.
struct collective_order {
  dynamic_array<collective> steps;  // in the order of the stream
  // by pass: 1 if it opens a pair that cannot overlap, for want of a buffer
  dynamic_array<char> split;
};

// Finds the collectives of one device of a schedule, in one pass over its order.
class collective_order_builder {
 public:
  // `buffer(stage)` of weights and of gradients; `late(stage)`: its gradient is reduced at the end.
  constexpr collective_order_builder(schedule const& s, int device, int prefetch)
      : s_(s), device_(device), prefetch_(prefetch) {
    for (timed_pass const t : each_pass(nth(s.order, device))) passes_.push_back(t);
  }

  // Times ascend from one step to the next, and no step is earlier than the ends of the passes that it
  // waits for. So no cycle of waits can arise when the events between devices are merged in by time. At
  // equal times, steps that end a use come first, then the events, then gathers.
  template <class WeightBuffer, class GradientBuffer, class Late>
  constexpr collective_order build(int buffers, WeightBuffer weight_buffer,
                                   GradientBuffer gradient_buffer, Late late) {
    split_pairs(weight_buffer);
    dynamic_array<use> weights(static_cast<std::size_t>(buffers)), gradients = weights;
    for (int i = 0; i < size(); ++i) {
      pass const what = at(i).what;
      if (is_part(what)) continue;
      use& w = nth(weights, weight_buffer(what.stage));
      if (w.stage != what.stage) {
        release(w);
        gather(what.stage, w.last, i);
      }
      w = {what.stage, i};
      if (!gives_weight_gradient(what.kind)) continue;
      use& g = nth(gradients, gradient_buffer(what.stage));
      if (g.stage != what.stage) {
        if (g.stage >= 0) after(opcode::reduce_scatter, g);
        clear(what.stage, i);
      }
      g = {what.stage, i};
    }
    for (use const& w : weights) release(w);
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
  // The state of a buffer: the stage in it, and the last pass that used it.
  struct use {
    int stage = -1;
    int last = -1;
  };

  constexpr int size() const { return static_cast<int>(passes_.size()); }
  constexpr timed_pass const& at(int i) const { return nth(passes_, i); }
  constexpr bool opens_pair(std::size_t i) const {
    return i + 1 < passes_.size() && passes_[i].slot == passes_[i + 1].slot;
  }
  constexpr bool overlaps_next(int i) const {
    auto const at = static_cast<std::size_t>(i);
    return opens_pair(at) && made_.split[at] == 0;
  }

  template <class Buffer>
  constexpr void split_pairs(Buffer buffer_of) {
    made_.split = dynamic_array<char>(passes_.size(), 0);
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      if (!opens_pair(i)) continue;
      int const a = passes_[i].what.stage, b = passes_[i + 1].what.stage;
      if (a != b && buffer_of(a) == buffer_of(b)) made_.split[i] = 1;
    }
  }

  constexpr void add(int before, tick time, opcode code, int stage) {
    made_.steps.push_back({before, time, code, stage});
  }
  constexpr void release(use const& w) {
    if (w.stage >= 0) after(opcode::release, w);
  }
  // Writes it after the last pass of a use, and after the pass that it overlaps with.
  constexpr void after(opcode code, use const& u) {
    int const before = u.last + (overlaps_next(u.last) ? 2 : 1);
    tick const end = s_.end_of(at(u.last), device_);
    bool const early = before < size() && at(before).start < end;  // within a pair that is split
    add(before, early ? at(before).start : end, code, u.stage);
  }
  // Gathers before the pass at `needed`, after the last use of the buffer, not within a pair.
  constexpr void gather(int stage, int last_use, int needed) {
    int before = needed - prefetch_ > last_use + 1 ? needed - prefetch_ : last_use + 1;
    if (before > 0 && overlaps_next(before - 1)) before += last_use < before - 1 ? -1 : 1;
    add(before, at(before).start, opcode::all_gather, stage);
  }

  // Clears before the first pass that adds to the buffer, not within a pair.
  constexpr void clear(int stage, int first) {
    int const before = first > 0 && overlaps_next(first - 1) ? first - 1 : first;
    add(before, at(before).start, opcode::clear, stage);
  }

  static constexpr int rank_of(opcode code) {
    return code == opcode::release          ? 0
           : code == opcode::reduce_scatter ? 1
           : code == opcode::all_gather     ? 2
                                            : 3;
  }
  constexpr collective_order in_order() {
    merge_sort(made_.steps, [](collective const& a, collective const& b) {
      if (a.before != b.before) return a.before < b.before;
      return a.time != b.time ? a.time < b.time : rank_of(a.code) < rank_of(b.code);
    });
    return std::move(made_);
  }

  schedule const& s_;
  int device_;
  dynamic_array<timed_pass> passes_;  // in their order
  int prefetch_;
  collective_order made_;
};

}  // namespace ashlar

// Beam search: builds the orders of all devices at once, one pass after the other by start, and keeps
// the most promising of the partial schedules with as many passes. Where memory is tight, few orders
// keep to it, and no small change leads from one to another; but they have few beginnings, too.
//
// Ow and Morton, Filtered beam search in scheduling (1988).
#pragma once

#include <ashlar/optimize/disjunctive_graph.hpp>
#include <ashlar/optimize/justification.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// How many partial schedules of the passes of `s` a beam may keep so that it costs about as much as
// dispatching that many passes.
std::size_t beam_width(std::int64_t passes, schedule const& s);

class beam_search {
 public:
  // `search` must outlive it. O(passes).
  beam_search(justifier& search, memory_limit const& limit);

  // Keeps `width` partial schedules, and justifies the best complete one. Passes of a stage and kind
  // come in the order of `from`; if the search aims at the span, a device's time counts from its start
  // there. Finds nothing if the search's budget ends before, or memory is too tight for all that it
  // keeps. O(passes^2 width).
  void run(list_scheduler::solution const& from, std::size_t width);

 private:
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);
  struct partial_schedule {
    std::vector<std::size_t> done;  // passes of each stream: a stage and kind
    std::vector<tick> free, left;   // by device: when it is free, and the work that is left
    std::vector<byte_count> held;   // by device
    std::vector<tick> end;          // by pass, of those that are done
    tick now = 0, least = 0;        // the last start; no schedule that it leads to is shorter
    std::uint64_t hash = 0;         // of the passes that are done
    std::size_t last = nothing;     // step
  };
  struct step {
    std::size_t before = nothing;
    int what = 0;
  };
  // A partial schedule of the beam with one pass more.
  struct successor {
    std::size_t of = 0;
    int what = 0;
    tick start = 0, least = 0;
    tick ends = 0;  // sum over devices of when each would end without idling any more
    std::uint64_t hash = 0;
  };

  bool is_done(partial_schedule const& t, int x) const {
    return nth(place_, x) < t.done[nth(stream_, x)];
  }
  // When the inputs of a pass are there; max_tick if one is not done.
  tick input_time(partial_schedule const& t, int x) const;

  void begin(list_scheduler::solution const& from);
  // Finds rest_, for which from's orders give a topological order.
  void find_rests(list_scheduler::solution const& from);
  void add_successor(std::size_t of, int x);
  // Finds the passes that are done and still needed after a successor.
  void find_open(successor const& s);
  // Whether a is nowhere later than b, which has done the same passes.
  bool dominates(successor const& a, successor const& b) const;
  void drop_dominated();
  partial_schedule after(successor const& s);
  list_scheduler::device_orders orders_of(std::size_t last) const;

  justifier* search_;
  disjunctive_graph graph_;
  std::vector<byte_count> limit_;            // by device
  std::vector<std::vector<int>> streams_;    // passes of each, in order
  std::vector<std::size_t> stream_, place_;  // of each pass, and in it
  std::vector<tick> released_;               // by device
  std::vector<tick> rest_;  // by pass: the least time from its start to the end of a device
  std::vector<partial_schedule> beam_, next_;
  std::vector<successor> successors_;
  std::vector<step> steps_;
  std::vector<int> open_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/beam_search.ipp>
#endif

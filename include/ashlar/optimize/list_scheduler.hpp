// List scheduling of an order of passes for each device: whenever a device is free, it takes one of the
// next few passes of its list. The same loop runs in forward and in reversed time.
//
// Source: the parallel schedule generation scheme of resource-constrained project scheduling (Kolisch,
// Serial and parallel resource-constrained project scheduling methods revisited, 1996).
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The priority rule: how far a device may leave its order.
struct dispatch_rule {
  int window = 1;       // how many passes of its order a device looks at
  int tolerance = 100;  // percent of a pass's length by which one that could start may be delayed

  friend constexpr bool operator==(dispatch_rule const&, dispatch_rule const&) = default;
};

// A precedence graph of passes, ready to be dispatched again and again.
class list_scheduler {
 public:
  using device_orders = precedence_graph::device_orders;
  static constexpr int nobody = precedence_graph::nobody;

  // Throws as precedence_graph does.
  list_scheduler(schedule const& s, memory_limit const& limit);

  precedence_graph const& passes() const { return graph_; }

  // The result of a run.
  struct solution {
    device_orders orders;     // as run
    std::vector<tick> start;  // by pass
    tick makespan = 0, span = 0;
  };

  // Runs `orders` in forward time, every device free from `released` on (or from 0); false if the
  // devices come to wait for each other, as they may where the orders exceed the limit. If it `holds`,
  // every stash counts until its weight pass. O(passes (devices + window)).
  bool run(device_orders const& orders, dispatch_rule rule, std::vector<tick> const& released,
           solution& out, bool holds = false) {
    return walk(orders, rule, released, out, {.reversed = false, .holds = holds});
  }

  // Runs in reversed time: `orders` is read from its end, backwards take memory and forwards give it
  // back. `out` is in forward time again, its first pass at 0.
  bool run_reversed(device_orders const& orders, dispatch_rule rule, std::vector<tick> const& released,
                    solution& out, bool holds = false);

  tick end_of(solution const& t, int number) const {
    auto const x = static_cast<std::size_t>(number);
    return t.start[x] + graph_.length[x];
  }

  // Finds makespan and span from the orders and starts.
  void measure(solution& out) const;

 private:
  struct device_state {
    tick free = 0;
    int head = nobody;  // first of its order that has not run
    std::int64_t held = 0, limit = 0;
    int pick = nobody;  // the pass that it would run next
    int before_pick = nobody;
    tick pick_start = 0;
    std::uint64_t streams = 0;  // all of the device
    bool stale = true;
  };

  // How to read time and memory.
  struct reading {
    bool reversed = false, holds = false;
  };

  // Memory that the device takes at the start of pass x, and gives back at its end.
  byte_count takes(std::size_t x) const { return (*takes_)[x]; }
  byte_count gives(std::size_t x) const { return (*gives_)[x]; }

  bool walk(device_orders const& orders, dispatch_rule rule, std::vector<tick> const& released,
            solution& out, reading how);

  // Chooses the earliest-starting pass in the window that fits memory, even after those it overtakes,
  // and delays none beyond tolerance. FIFO per (stage, kind).
  void choose(device_state& at, dispatch_rule rule);

  precedence_graph graph_;
  std::size_t p_;
  std::vector<tick> transfer_;  // from device to device
  std::vector<std::int64_t> limit_;

  std::vector<byte_count> const *takes_ = nullptr, *gives_ = nullptr;  // of the walk
  std::vector<int> missing_;
  std::vector<tick> ready_;
  std::vector<int> next_;
  dynamic_array<device_state> state_;
};

// Puts the orders and starts of a solution of `passes` into `s`.
schedule timed(schedule s, precedence_graph const& passes, list_scheduler::solution const& t);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/list_scheduler.ipp>
#endif

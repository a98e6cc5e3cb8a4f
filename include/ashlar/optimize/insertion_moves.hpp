// Moves of a pass within its device's order: which are allowed, and their estimated result.
//
// Balas and Vazacopoulos, Guided local search with shifting bottleneck for job shop scheduling (1998).
// Estimates: Dell'Amico and Trubian, Applying tabu search to the job-shop scheduling problem (1993).
#pragma once

#include <ashlar/model/memory_model.hpp>
#include <ashlar/optimize/disjunctive_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// A move within the positions first .. last of a device's order: the first pass goes after the last one,
// or the last pass goes before the first one.
struct insertion_move {
  std::size_t device = 0;
  std::size_t first = 0, last = 0;
  bool is_later = true;
};

class insertion_moves {
 public:
  // The moves of the orders that `graph` was set() to; it must outlive this. O(passes).
  insertion_moves(disjunctive_graph& graph, schedule const& s, memory_limit const& limit)
      : graph_(&graph) {
    for (int d = 0; d < s.device_count(); ++d) limit_.push_back(limit.free_on(s.where, d));
  }

  // Resets after graph.set().
  void reset();

  // Whether the device keeps to its memory after a move, passes of a stage and kind in their order, and
  // the orders without a cycle. May also refuse a move that would make none.
  bool allows(insertion_move const& m);

  // The longest path through the passes that a move concerns, after it, if it changes no other head or
  // tail; exact for neighbours. O(length of the move).
  tick estimate(insertion_move const& m);

  void apply(insertion_move const& m);

  // Heads and tails computed for estimates.
  std::int64_t visits() const { return visits_; }

 private:
  // Sets moved_ to its part of the order after a move.
  void moved_order(insertion_move const& m);

  // Computes the memory held before the positions first + 1 .. end.
  void hold(std::size_t device, std::size_t first, std::size_t end);

  disjunctive_graph* graph_;
  std::vector<byte_count> limit_;              // by device
  std::vector<std::vector<byte_count>> held_;  // by device, before each position and after all
  std::vector<int> moved_;
  std::vector<tick> new_end_;
  std::int64_t visits_ = 0;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/insertion_moves.ipp>
#endif

// A building block with offsets of any length, which gives the list scheduler its orders. Its passes may
// collide, because only their order counts. Qi et al., Controllable Memory (2024), section 4, search
// offsets in whole passes and leave others open.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/optimize/precedence_graph.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A micro-batch follows the chain of stages without waiting, but for these delays; the next one does the
// same a period later. A leg is the part of the chain before it meets a device again. All tables by leg.
struct delay_block {
  tick period = 1;
  std::vector<tick> forward_hop, backward_hop;  // between the stages of a leg
  std::vector<tick> turn;    // between legs: forward ones, the turn to the backward, backward ones
  std::vector<tick> weight;  // of a weight pass, after its input pass

  delay_block(int legs, tick every)
      : period(every),
        forward_hop(static_cast<std::size_t>(legs), 0),
        backward_hop(forward_hop),
        turn(static_cast<std::size_t>(2 * legs - 1), 0),
        weight(forward_hop) {}

  std::size_t size() const { return 1 + 2 * weight.size() + turn.size() + weight.size(); }

  // The period first, then every delay.
  tick& operator[](std::size_t i);
};

// The time of a stage's passes of one kind on a device, as the mean over the chunks of a sequence.
tick mean_length(schedule const& s, pass_kind kind, int stage, int device);

// The leg of each stage of a chain.
dynamic_array<std::size_t> legs_of(placement const& where);

// The times when a micro-batch that begins at 0 passes the stages of a chain.
struct offsets_of_stages {
  std::vector<tick> forward, backward, weight;

  offsets_of_stages(delay_block const& b, dynamic_array<std::size_t> const& leg, schedule const& s,
                    bool fused);

  // A recompute comes right before the backward: by its place in the order, after the forward.
  tick of(pass what) const;
};

// The number of periods after the first when a pass comes: its micro-batch, but the chunks of a sequence
// go backward in reverse, from when the last of them has gone forward.
int turn_of(pass what, int sequence_chunks);

// Each micro-batch follows when the one before it is through. For a chain of stages and one route; with
// sequences in chunks, the next one's come before all of the last one's are through.
delay_block one_at_a_time(schedule const& s);

// The order of all passes of `s` (chain of stages, one route) as the block repeats. With several tracks,
// micro-batches take turns, one block each (the period is that of the first). O(n log n).
precedence_graph::device_orders orders_of_blocks(std::vector<delay_block> const& tracks,
                                                 schedule const& s, precedence_graph const& passes);

// Work of the busiest device for one sequence: a micro-batch, or all chunks of it.
tick work_of_sequence(schedule const& s);

// Work for one micro-batch; for a chunk on average, rounded up.
inline tick work_of_one(schedule const& s) {
  int const q = s.graph.sequence_chunks();
  return (work_of_sequence(s) + q - 1) / q;
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/delay_block.ipp>
#endif

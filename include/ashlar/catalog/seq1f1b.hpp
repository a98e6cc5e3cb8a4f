// Seq1F1B: 1F1B whose unit is a chunk of a sequence, and its interleaved form. Sun, Zhao, Han et al.:
// Seq1F1B, Efficient Sequence-Level Pipeline Parallelism (2024), section 3.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/orders.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::catalog {

// Seq1F1B is for at least one chunk of each sequence.
constexpr diagnosis check_sequence_chunks(shape const& s) {
  return check_count(s, parameter::sequence_chunk_count, s.sequence_chunks);
}

// The q chunks of one sequence, repeated m times. They go forward in order and, as each one's gradients
// come from the later ones too, backward in reverse: the first backward is that of the last chunk, so
// 1F1B's p - d units in flight become p - d + q - 1, each of them a q-th in size.
constexpr block seq1f1b(devices p, int q) {
  must_be(check_sequence_chunks({.p = p, .m = micro_batches{1}, .sequence_chunks = q}));
  block b{.graph = in_sequence_chunks(chain(stages{p.value}), q),
          .where = linear(p),
          .route = std::vector<int>(static_cast<std::size_t>(q), 0),
          .cost = {},
          .interval = 3 * tick{q},
          .cells = {}};
  for (int s = 0; s < p.value; ++s)
    for (int c = 0; c < q; ++c) {
      b.cells.push_back({{pass_kind::forward, s, c}, 3 * tick{c} + s});
      tick const back = 3 * (q - 1 + tick{q - 1 - c});
      b.cells.push_back({{pass_kind::backward, s, c}, back + p.value + 2 * (p.value - 1 - s)});
    }
  return b;
}

// The sequences that take turns on the chunks of a device: the fewest whose sequence chunks fill the
// devices.
constexpr int sequences_in_turn(shape const& s) {
  int const q = max_of(1, s.sequence_chunks);
  return s.p.value / q + (s.p.value % q > 0 ? 1 : 0);
}

// Interleaving takes several chunks a device, and groups of sequences_in_turn() alone.
constexpr diagnosis check_interleaved_sequences(shape const& s) {
  if (diagnosis const d = all_of({check_chunks(s), at_least(parameter::chunk_count, s.v.value, 2)});
      !d.ok())
    return d;
  if (diagnosis const d = check_count(s, parameter::sequence_chunk_count, s.sequence_chunks, s.v.value);
      !d.ok())
    return d;
  return multiple_of(parameter::micro_batch_count, s.m.value, sequences_in_turn(s));
}

// Interleaved 1F1B in which sequence chunks take the turns of micro-batches, and go backward in reverse
// within their sequence. With groups of g sequence chunks, device d has a warm-up of (v - 1) g +
// 2(p - 1 - d) + q - 1. The authors' code has groups of p, and is right where q divides p; elsewhere a
// group is of the whole sequences that p sequence chunks are part of. All starts are 0.
constexpr schedule interleaved_seq1f1b(shape const& s) {
  must_be(check_interleaved_sequences(s));
  int const p = s.p.value, v = s.v.value, q = s.sequence_chunks;
  int const units = s.m.value * q, group = sequences_in_turn(s) * q;
  schedule made =
      schedule_without_passes(looped(s.p, s.v), std::vector<int>(static_cast<std::size_t>(units), 0));
  made.graph = in_sequence_chunks(made.graph, q);
  for (int d = 0; d < p; ++d) {
    dynamic_array<pass> forwards, backwards;
    for (int first = 0; first < units; first += group)
      for (int c = 0; c < v; ++c)
        for (int k = first; k < first + group; ++k) {
          forwards.push_back({pass_kind::forward, c * p + d, k});
          backwards.push_back({pass_kind::backward, (v - 1 - c) * p + d, k + q - 1 - 2 * (k % q)});
        }
    nth(made.order, d) = one_forward_one_backward(
        forwards, backwards, static_cast<std::size_t>((v - 1) * group + 2 * (p - 1 - d) + q - 1));
  }
  return made;
}

}  // namespace ashlar::catalog

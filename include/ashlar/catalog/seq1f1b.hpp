// Seq1F1B: 1F1B whose unit is a chunk of a sequence. Sun, Zhao, Han et al.: Seq1F1B, Efficient
// Sequence-Level Pipeline Parallelism (2024), section 3.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/ids.hpp>

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

}  // namespace ashlar::catalog

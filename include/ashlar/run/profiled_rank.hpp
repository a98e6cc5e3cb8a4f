// The passes of each rank of a pipeline, as a framework's profiler saw them.
#pragma once

#include <ashlar/core/pass.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar {

// Times are nanoseconds of the rank's own clock.
struct profiled_pass {
  pass what = {};
  int step = 0;            // number of earlier passes of this name on its rank
  std::int64_t begin = 0;  // of its annotation, in which it first waits for its input
  std::int64_t start =
      0;  // of its first operator or kernel; `end` if there is none, on a GPU the end of the pass before
  std::int64_t end = 0;

  friend bool operator==(profiled_pass const&, profiled_pass const&) = default;
};

struct profiled_rank {
  int rank = 0;
  bool on_gpu = false;                     // start and end are those of kernels
  bool knows_waits = true;                 // false: starts are those of annotations
  std::string host = {};                   // ranks of one host share a clock; empty: unknown
  std::vector<profiled_pass> passes = {};  // in the order in which they ran
};

// Moves starts so that waits for inputs are left out. Before its first operator, a pass waits and the
// framework works. The shortest such time of the same stage and kind counts as work. On a GPU, nothing
// before the first kernel counts. O(n log n).
void leave_out_waits(std::vector<profiled_rank>& ranks);

// The number of steps that all ranks have, each with the same passes; 0 if the profile begins or ends
// within one.
int whole_steps(std::vector<profiled_rank> const& ranks);

// One rank of each data-parallel group, ascending: the first of those with exactly the same passes.
std::vector<profiled_rank> one_of_each(std::vector<profiled_rank> const& ranks);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/profiled_rank.ipp>
#endif

// What a framework's profiler saw of the passes on each rank of a pipeline.
#pragma once

#include <ashlar/core/pass.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar {

// In nanoseconds of the rank's own clock.
struct profiled_pass {
  pass what = {};
  int step = 0;            // how many passes of this name were before it on its rank
  std::int64_t begin = 0;  // of its annotation, in which it first waits for its input
  std::int64_t start =
      0;  // of its first operator or kernel; `end` if there is none, on a GPU the end of the pass before
  std::int64_t end = 0;

  friend bool operator==(profiled_pass const&, profiled_pass const&) = default;
};

struct profiled_rank {
  int rank = 0;
  bool on_gpu = false;                     // start and end are those of kernels
  bool knows_waits = true;                 // else starts are those of annotations
  std::string host = {};                   // ranks of one host have one clock; empty: it is not known
  std::vector<profiled_pass> passes = {};  // in the order in which they ran
};

// Moves starts so that waits for inputs are left out. Before its first operator, a pass waits and the
// framework works. As long as the quickest pass of the same stage and kind takes there counts as work.
// On a GPU, nothing before the first kernel counts. O(n log n).
void leave_out_waits(std::vector<profiled_rank>& ranks);

// How many steps all ranks have, each with the same passes; 0 if the profile begins or ends within one.
int whole_steps(std::vector<profiled_rank> const& ranks);

// One rank of each data-parallel group, ascending: of those that have the very same passes, the first.
std::vector<profiled_rank> one_of_each(std::vector<profiled_rank> const& ranks);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/profiled_rank.ipp>
#endif

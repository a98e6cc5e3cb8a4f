// Extends a solution by repeating a window of micro-batches periodically.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/optimize/list_scheduler.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// A round: p micro-batches, or a few more of whole sequences.
inline int round_of(schedule const& s) {
  int const q = s.graph.sequence_chunks();
  return (s.device_count() + q - 1) / q * q;
}

// Whether there are enough micro-batches for those in the middle to repeat themselves.
inline bool is_long(schedule const& s) { return s.micro_batch_count() > std::int64_t{4} * round_of(s); }

// Makes `wanted` micro-batches of `known`: the first `begin` stay, begin .. end - 1 are like like ..
// like + count - 1, a period later each time, and those from `end` on are the last known ones. All are
// of whole sequences.
struct extension_window {
  int known, wanted;
  int like, count;  // count >= 1, like + count < known
  int begin, end;   // begin < known; either end == wanted or wanted - known <= end < wanted
};

// The starts of passes in the extended solution.
class extended_starts {
 public:
  // Takes `start` of the known ones. The slowest of `references` (of any micro-batch) sets the period,
  // and the distance where parts are joined.
  extended_starts(result_table<tick> start, std::vector<pass> const& references, extension_window s);

  // The time from one repetition to the next.
  tick period() const { return period_; }

  tick of(pass what) const;

 private:
  int last(int i) const { return i - (s_.wanted - s_.known); }
  tick known(pass what, int i) const { return start_.at(i, what.stage, result_of(what.kind)); }
  tick repeated(pass what, int i) const;

  result_table<tick> start_;
  extension_window s_;
  tick period_ = 0, delay_ = 0, delay_of_last_ = 0;
};

// The starts of a solution as a table.
result_table<tick> start_table(list_scheduler::solution const& t, dynamic_array<pass> const& what,
                               schedule const& s);

// The extended start of each of these passes.
std::vector<tick> starts_of(extended_starts const& s, dynamic_array<pass> const& what);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/periodic_extension.ipp>
#endif

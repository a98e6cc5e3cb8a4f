// Extends a timeline by repeating a window of micro-batches periodically.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/optimize/list_scheduler.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A round: p micro-batches, or a few more of whole sequences.
constexpr int round_of(schedule const& s) {
  int const q = s.graph.sequence_chunks();
  return (s.device_count() + q - 1) / q * q;
}

// Whether there are so many micro-batches that those in the middle repeat themselves.
constexpr bool is_long(schedule const& s) { return s.micro_batch_count() > 4 * round_of(s); }

// Of `known` micro-batches make `wanted`: the first `begin` stay, begin .. end - 1 are like
// like .. like + count - 1, a period later each time, and those from `end` on are the last known ones.
// All of whole sequences.
struct extension_window {
  int known, wanted;
  int like, count;  // count >= 1, like + count < known
  int begin, end;   // begin < known; either end == wanted or wanted - known <= end < wanted
};

// The starts of passes in the extended timeline.
class extended_starts {
 public:
  // `start`: of the known ones. The period, and how far what is joined stands apart, is what the slowest
  // of `references` takes (of any micro-batch).
  constexpr extended_starts(result_table<tick> start, std::vector<pass> const& references,
                            extension_window s)
      : start_(std::move(start)), s_(s) {
    auto const longest = [&](auto const& distance) {
      tick most = distance(references[0]);
      for (pass const& x : references) most = max_of(most, distance(x));
      return most;
    };
    period_ = longest([&](pass x) { return known(x, s.like + s.count) - known(x, s.like); });
    delay_ = longest([&](pass x) { return known(x, s.begin) - repeated(x, s.begin); });
    if (s.end < s.wanted)
      delay_of_last_ = longest([&](pass x) { return repeated(x, s.end) - known(x, last(s.end)); });
  }

  // From one repetition to the next.
  constexpr tick period() const { return period_; }

  constexpr tick of(pass what) const {
    int const i = what.micro_batch;
    if (i < s_.begin) return known(what, i);
    return i < s_.end ? repeated(what, i) : known(what, last(i)) + delay_of_last_;
  }

 private:
  constexpr int last(int i) const { return i - (s_.wanted - s_.known); }
  constexpr tick known(pass what, int i) const { return start_.at(i, what.stage, result_of(what.kind)); }
  constexpr tick repeated(pass what, int i) const {
    int const from = i - s_.like;
    int const times = (from < 0 ? from - s_.count + 1 : from) / s_.count;  // rounded down
    return known(what, i - times * s_.count) + times * period_ + delay_;
  }

  result_table<tick> start_;
  extension_window s_;
  tick period_ = 0, delay_ = 0, delay_of_last_ = 0;
};

// The starts of a timeline as a table.
constexpr result_table<tick> start_table(list_scheduler::timeline const& t,
                                         dynamic_array<pass> const& what, schedule const& s) {
  result_table<tick> start(s.stage_count(), s.micro_batch_count(), 0);
  for (std::size_t x = 0; x < what.size(); ++x)
    start.at(what[x].micro_batch, what[x].stage, result_of(what[x].kind)) = t.start[x];
  return start;
}

// The extended start of each of these passes.
constexpr std::vector<tick> starts_of(extended_starts const& s, dynamic_array<pass> const& what) {
  std::vector<tick> start;
  start.reserve(what.size());
  for (pass const& x : what) start.push_back(s.of(x));
  return start;
}

}  // namespace ashlar

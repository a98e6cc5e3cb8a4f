// Definitions of periodic_extension.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/periodic_extension.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

ASHLAR_INLINE extended_starts::extended_starts(result_table<tick> start,
                                               std::vector<pass> const& references, extension_window s)
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

ASHLAR_INLINE tick extended_starts::of(pass what) const {
  int const i = what.micro_batch;
  if (i < s_.begin) return known(what, i);
  return i < s_.end ? repeated(what, i) : known(what, last(i)) + delay_of_last_;
}

ASHLAR_INLINE tick extended_starts::repeated(pass what, int i) const {
  int const from = i - s_.like;
  int const times = (from < 0 ? from - s_.count + 1 : from) / s_.count;  // rounded down
  return known(what, i - times * s_.count) + times * period_ + delay_;
}

ASHLAR_INLINE result_table<tick> start_table(list_scheduler::solution const& t,
                                             dynamic_array<pass> const& what, schedule const& s) {
  result_table<tick> start(s.stage_count(), s.micro_batch_count(), 0);
  for (std::size_t x = 0; x < what.size(); ++x)
    start.at(what[x].micro_batch, what[x].stage, result_of(what[x].kind)) = t.start[x];
  return start;
}

ASHLAR_INLINE std::vector<tick> starts_of(extended_starts const& s, dynamic_array<pass> const& what) {
  std::vector<tick> start;
  start.reserve(what.size());
  for (pass const& x : what) start.push_back(s.of(x));
  return start;
}

}  // namespace ashlar

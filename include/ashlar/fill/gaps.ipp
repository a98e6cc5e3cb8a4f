// Definitions of gaps.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/fill/gaps.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE dynamic_array<idle_time> gaps_of(schedule const& s, int device, tick length) {
  dynamic_array<idle_time> found;
  tick free = 0;
  for (time_slot const& t : nth(s.order, device)) {
    if (t.start > free) found.push_back({free, t.start});
    free = max_of(free, s.end_of(t, device));
  }
  if (length > free) found.push_back({free, length});
  return found;
}

ASHLAR_INLINE dynamic_array<idle_time> step_gaps(schedule const& step, int device, tick length,
                                                 bool interlocked) {
  dynamic_array<idle_time> const all = gaps_of(step, device, length);
  auto const& order = nth(step.order, device);
  tick const first = order.empty() ? 0 : order.front().start;
  if (!interlocked || first == 0) return all;
  dynamic_array<idle_time> found;
  for (std::size_t i = 1; i < all.size(); ++i) found.push_back(all[i]);
  if (!found.empty() && found.back().end == length)
    found.back().end += first;
  else
    found.push_back({length, length + first});
  return found;
}

}  // namespace ashlar

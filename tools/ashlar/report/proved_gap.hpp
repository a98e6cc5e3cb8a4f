// Gaps, shares and sizes as the tool prints them: debug builds stop at one that its proof rules out.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>

#include <cassert>

namespace tool {

// The share by which a time exceeds its bound, which it is never below.
template <class Time>
double proved_gap(Time reached, Time least) {
  assert(least >= 0 && reached >= least);
  return ashlar::gap(reached, least);
}

// A gap that is known already, of a search that proved it.
inline double proved_gap(double gap, [[maybe_unused]] bool is_optimal) {
  assert(gap >= 0 && is_optimal == (gap == 0));
  return gap;
}

// The bound itself.
template <class Time>
Time proved_bound([[maybe_unused]] Time reached, Time least) {
  assert(least >= 0 && reached >= least);
  return least;
}

// A share that is used, idle or spent otherwise.
inline double proved_share(double share) {
  assert(share >= 0 && share <= 1);
  return share;
}

// Bytes held in memory.
template <class Bytes>
Bytes proved_bytes(Bytes bytes) {
  assert(bytes >= 0);
  return bytes;
}

}  // namespace tool

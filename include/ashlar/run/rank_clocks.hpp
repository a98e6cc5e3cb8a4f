// The differences of ranks' clocks, from messages between them.
#pragma once

#include <ashlar/core/language.hpp>

#include <vector>

namespace ashlar {

// A message that cannot arrive before it was sent. By the ranks' own clocks it took `delay`, which may
// be negative.
struct clocked_message {
  int from = 0, to = 0;
  double delay = 0;
};

struct rank_clocks {
  std::vector<double> ahead = {};  // by rank: subtract it from the rank's clock
  double least_delay = 0;  // of a message with a way back, or within one clock, by the corrected clocks
  bool guessed = false;    // between some ranks, messages went one way only
};

// Clocks under which the quickest message takes as long as possible: with messages both ways between two
// ranks, the quickest of each way take the same time, as NTP assumes. With more ranks, the cycle of
// messages with the least mean delay decides first; its ranks then count as one, and the next cycle is
// found. If messages go one way only, the quickest is assumed to take no time. A negative least_delay
// means that no clocks fit. Clocks are relative to that of rank 0.
// `shared`: by rank, the number of its clock, if some share one; without it, each has its own. O(r² e)
// for r ranks and e pairs of ranks, times the cycles that are tried for each.
rank_clocks clocks_of(int ranks, std::vector<clocked_message> const& messages,
                      std::vector<int> const& shared = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/rank_clocks.ipp>
#endif

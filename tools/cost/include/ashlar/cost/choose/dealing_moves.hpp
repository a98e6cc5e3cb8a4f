// Betters a division of a model's layers by moves of one part at a time.
#pragma once

#include <ashlar/cost/choose/dealing_segments.hpp>
#include <ashlar/cost/question/even_divisions.hpp>

#include <cmath>
#include <vector>

namespace ashlar::cost::dealing_detail {

// Relative roundings.
inline constexpr double same_seconds = 1e-12, same_squares = 1e-9;

// The weight of a division.
struct outcome {
  double over = nothing;  // bytes beyond what devices have
  double seconds = nothing;
  double squares = 0;  // of the devices' loads: among equal steps, the more even one
  int device = 0;      // the one that takes longest, or holds too much

  // Whether the first is the better one, by more than roundings.
  friend bool operator<(outcome const& a, outcome const& b) {
    if (a.over != b.over) return a.over < b.over;
    if (std::fabs(a.seconds - b.seconds) > same_seconds * b.seconds) return a.seconds < b.seconds;
    return a.squares < b.squares * (1 - same_squares);
  }
};

inline constexpr int most_that_all_give = 64;  // stages

// Takes the first move that is better until there is none: from stages of the busiest device, then, if
// stages are few, from the others. `weigh(ends)` is the outcome of a division, `is_on(stage, device)`
// says where a stage lives, `may_weigh()` whether there is time for one more.
template <class Weigh, class IsOn, class MayWeigh>
outcome improved(std::vector<int>& ends, outcome now, Weigh weigh, IsOn is_on, MayWeigh may_weigh) {
  int const count = static_cast<int>(ends.size());
  bool const all_give = count <= most_that_all_give;
  auto const improves = [&](int from) {
    for (int to = 0; to < count && may_weigh(); ++to) {
      std::vector<int> const other = with_part_moved(ends, from, to);
      if (other.empty()) continue;
      outcome const then = weigh(other);
      if (!(then < now)) continue;
      ends = other;
      now = then;
      return true;
    }
    return false;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (bool const of_busiest : {true, false})
      for (int from = 0; from < count && !moved; ++from)
        if (is_on(from, now.device) == of_busiest && (of_busiest || all_give)) moved = improves(from);
  }
  return now;
}

}  // namespace ashlar::cost::dealing_detail

// Finds which of several clocks shows the earliest time, while they advance one at a time.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>

namespace ashlar {

// Matches between neighbours, then between winners; a clock that advances plays its own again, O(log n).
class tournament {
 public:
  // Makes n clocks, all at max_tick.
  explicit constexpr tournament(std::size_t n) {
    while (width_ < n) width_ *= 2;
    times_ = dynamic_array<tick>(width_, max_tick);
    winner_ = dynamic_array<std::size_t>(2 * width_, 0);
    std::size_t* const of = winner_.data();
    for (std::size_t clock = 0; clock < width_; ++clock) of[width_ + clock] = clock;
    for (std::size_t match = width_ - 1; match > 0; --match) of[match] = of[2 * match];
  }

  // The first one of those that show the earliest time.
  constexpr std::size_t winner() const { return winner_[1]; }
  constexpr tick earliest() const { return times_[winner()]; }

  constexpr void set(std::size_t clock, tick to) {
    tick* const times = times_.data();
    std::size_t* const of = winner_.data();
    times[clock] = to;
    for (std::size_t match = (width_ + clock) / 2; match > 0; match /= 2) {
      std::size_t const left = of[2 * match], right = of[2 * match + 1];
      of[match] = times[right] < times[left] ? right : left;
    }
  }

 private:
  std::size_t width_ = 2;
  dynamic_array<tick> times_;
  dynamic_array<std::size_t> winner_;  // of match i, between the winners of 2 i and 2 i + 1; then clocks
};

}  // namespace ashlar

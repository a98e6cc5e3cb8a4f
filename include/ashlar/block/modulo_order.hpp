// The cells of a block modulo its interval: what repeats on each device, in order.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/dependencies.hpp>

#include <cstddef>

namespace ashlar {

// A cell whose offset is quotient * interval + remainder, 0 <= remainder < interval.
struct modulo_cell {
  tick remainder = 0;
  tick quotient = 0;
  int cell = 0;  // index into the block's cells

  friend constexpr bool operator==(modulo_cell const&, modulo_cell const&) = default;
};

// For each device its cells by remainder, ties in the order of the block; those that take no time before
// those that do, and after what they need. Linear in cells + interval for
// intervals of the size of the block (unit costs), O(n log n) for longer ones (costs in nanoseconds).
constexpr lists<modulo_cell> modulo_order(block const& b) {
  auto const n = b.cells.size();
  cell const* const cells = b.cells.data();
  dynamic_array<modulo_cell> reduced;
  reduced.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    tick const quotient = floor_quotient(cells[i].offset, b.interval);
    reduced.push_back({cells[i].offset - quotient * b.interval, quotient, static_cast<int>(i)});
  }

  dynamic_array<modulo_cell> sorted(n);
  auto const interval = static_cast<std::size_t>(b.interval);
  if (interval <= 4 * n + 64) {  // counting sort: linear, and cheap in constant evaluation
    dynamic_array<std::size_t> next(interval + 1, 0);
    for (modulo_cell const& f : reduced) ++next[static_cast<std::size_t>(f.remainder) + 1];
    for (std::size_t r = 1; r <= interval; ++r) next[r] += next[r - 1];
    for (modulo_cell const& f : reduced) sorted.data()[nth(next.data(), f.remainder)++] = f;
  } else {
    dynamic_array<keyed_index> by_remainder;
    for (std::size_t i = 0; i < n; ++i) by_remainder.push_back({reduced[i].remainder, i});
    sort_by_key(by_remainder);
    for (std::size_t i = 0; i < n; ++i) sorted[i] = reduced[by_remainder[i].index];
  }

  if (b.cost.passes.has_instants())
    merge_sort(sorted, [&](modulo_cell const& x, modulo_cell const& y) {
      if (x.remainder != y.remainder) return x.remainder < y.remainder;
      pass const a = cells[x.cell].what, c = cells[y.cell].what;
      bool const takes_time = b.length_of(a) > 0;
      if (takes_time != (b.length_of(c) > 0) || takes_time) return !takes_time && b.length_of(c) > 0;
      return x.quotient != y.quotient ? x.quotient > y.quotient : precedes(b.graph, a, c);
    });

  return {static_cast<std::size_t>(b.where.device_count()), [&](auto add) {
            for (modulo_cell const& f : sorted) add(b.device_of(cells[f.cell].what), f);
          }};
}

}  // namespace ashlar

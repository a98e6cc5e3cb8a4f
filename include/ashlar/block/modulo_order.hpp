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

// The cells of each device by remainder, ties in the order of the block; those that take no time before
// those that do, and after what they need. The block has its form (check_form). Linear in cells +
// interval for intervals of the size of the block (unit costs), O(n log n) for longer ones (costs in
// nanoseconds).
constexpr lists<modulo_cell> modulo_order(block const& b) {
  auto const n = b.cells.size();
  cell const* const cells = b.cells.data();
  dynamic_array<modulo_cell> reduced;
  reduced.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    tick const quotient = floor_quotient(cells[i].offset, b.interval);
    reduced.push_back({cells[i].offset - quotient * b.interval, quotient, static_cast<int>(i)});
  }

  auto const remainder_of = [](modulo_cell const& f) { return f.remainder; };
  dynamic_array<modulo_cell> sorted = sorted_by(reduced, 0, b.interval - 1, remainder_of);
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

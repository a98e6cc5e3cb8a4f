// block -> schedule: one block an interval.
#pragma once

#include <ashlar/residues.hpp>
#include <ashlar/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// How many intervals the passes of one block can lie apart.
inline constexpr tick farthest = tick{1} << 24;

// Repeats the block until `count` micro-batches have passed; micro-batch k of instance i becomes i *
// group + k. A block without collisions modulo its interval gives a schedule without overlaps, for every
// count. Passes that start together (in a colliding block) keep the order of the block's cells. Throws
// violation: rule::counts_are_positive; rule::micro_batches_fill_blocks unless the block's group divides
// the count; rule::ticks_fit for passes more than `farthest` intervals apart. Linear in the passes: a
// merge of the shifted copies by residue, no sort.
constexpr schedule repeat(block const& b, micro_batches count) {
  int const group = b.micro_batch_count();
  if (count.value < 1 || group < 1 || b.interval < 1)
    throw violation{{.broken = rule::counts_are_positive, .number = count.value}};
  if (count.value % group != 0)
    throw violation{{.broken = rule::micro_batches_fill_blocks, .number = group}};
  tick const instances = count.value / group;

  schedule s{
      .graph = b.graph, .where = b.where, .route = {}, .cost = b.cost, .order = {}, .trains = b.trains};
  for (int i = 0; i < instances; ++i) s.route.insert(s.route.end(), b.route.begin(), b.route.end());

  for (std::vector<folded_cell> const& cells : fold(b)) {
    std::vector<timed_pass>& order =
        s.order.emplace_back(cells.size() * static_cast<std::size_t>(instances));
    if (cells.empty()) continue;
    tick first = cells[0].quotient, last = first;
    for (folded_cell const& f : cells) {
      first = f.quotient < first ? f.quotient : first;
      last = f.quotient > last ? f.quotient : last;
    }
    // A pass millions of intervals away from its block is a slip of the pen, and would take for ever.
    if (last - first > farthest) throw violation{{.broken = rule::ticks_fit, .number = last - first}};
    // In period n run the cells whose instance n - quotient exists, by residue.
    std::size_t filled = 0;
    for (tick period = first; period < last + instances; ++period)
      for (folded_cell const& f : cells) {
        tick const instance = period - f.quotient;
        if (instance < 0 || instance >= instances) continue;
        pass what = b.cells[static_cast<std::size_t>(f.cell)].what;
        what.micro_batch += static_cast<int>(instance) * group;
        order[filled++] = {what, period * b.interval + f.residue};
      }
  }
  return s;
}

constexpr auto repeat(micro_batches count) {
  return closure([=](block const& b) { return repeat(b, count); });
}

}  // namespace ashlar

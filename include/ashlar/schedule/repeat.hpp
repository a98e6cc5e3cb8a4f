// block -> schedule: one block per interval.
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/block/modulo_order.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// One device's cells, `instances` times: in each period those whose instance exists, by remainder.
// A counting sort over the periods, or a comparing one where offsets lie very far apart: linear in
// passes for every block whose offsets are not.
constexpr std::vector<time_slot> repeat_cells(block const& b, list_view<modulo_cell> cells,
                                              tick instances) {
  if (cells.empty()) return {};
  tick first = cells[0].quotient, last = first;
  for (modulo_cell const& f : cells) {
    first = f.quotient < first ? f.quotient : first;
    last = f.quotient > last ? f.quotient : last;
  }
  auto const length = cells.size() * static_cast<std::size_t>(instances);
  auto const for_each_copy = [&](modulo_cell const& f, auto put) {
    pass what = nth(b.cells, f.cell).what;
    tick start = f.quotient * b.interval + f.remainder;
    int const group = b.micro_batch_count();
    for (tick i = 0; i < instances; ++i) {
      put(time_slot{what, start});
      what.micro_batch += group;
      start += b.interval;
    }
  };

  auto const spread_over = static_cast<std::size_t>(last - first);
  if (spread_over > 4 * length + 64) {
    dynamic_array<time_slot> copies;
    dynamic_array<keyed_index> by_start;
    for (modulo_cell const& f : cells)
      for_each_copy(f, [&](time_slot const& t) {
        by_start.push_back({t.start, copies.size()});
        copies.push_back(t);
      });
    sort_by_key(by_start);
    std::vector<time_slot> order;
    for (keyed_index const& k : by_start) order.push_back(copies[k.index]);
    return order;
  }

  // How many cells come in and out of each period, then where its passes begin in the order.
  dynamic_array<tick> next(spread_over + static_cast<std::size_t>(instances) + 1, 0);
  for (modulo_cell const& f : cells) {
    tick* const period = next.data() + (f.quotient - first);
    ++period[0];
    --period[instances];
  }
  tick live = 0, filled = 0;
  for (tick *n = next.data(), *const end = n + next.size(); n != end; ++n) {
    live += *n;
    *n = filled;
    filled += live;
  }
  std::vector<time_slot> order(length);
  time_slot* const to = order.data();
  for (modulo_cell const& f : cells) {
    tick* place = next.data() + (f.quotient - first);
    for_each_copy(f, [&](time_slot const& t) { to[(*place++)++] = t; });
  }
  return order;
}

// The orders of all devices. A function of its own, because nvcc's front end forgets to destroy locals
// beside a schedule that is returned.
constexpr std::vector<std::vector<time_slot>> repeat_devices(block const& b, tick instances) {
  std::vector<std::vector<time_slot>> orders;
  lists<modulo_cell> const cells = modulo_order(b);
  for (std::size_t d = 0; d < cells.size(); ++d) orders.push_back(repeat_cells(b, cells[d], instances));
  return orders;
}

// Repeats the block until `count` micro-batches have passed; micro-batch k of instance i becomes i *
// group + k. A block without collisions modulo its interval gives a schedule without overlaps, for every
// count. Passes that start together (in a colliding block) keep the order of the block's cells. Throws
// violation: check_form(b); rule::counts_are_positive; rule::micro_batches_fill_blocks unless the
// block's group divides the count; rule::parameter_is_at_most for more than most_passes; rule::ticks_fit
// for starts out of range. Linear in the passes.
constexpr schedule repeat(block const& b, micro_batches count) {
  if (count.value < 1) refuse({.broken = rule::counts_are_positive, .number = count.value});
  must_have_form(b);
  int const group = b.micro_batch_count();
  if (count.value % group != 0) refuse({.broken = rule::micro_batches_fill_blocks, .number = group});
  int const most = most_passes / max_of(1, static_cast<int>(b.cells.size()));
  must_be(at_most(parameter::micro_batch_count, count.value, std::int64_t{most} * group));
  tick const instances = count.value / group, last = stretched(b.interval, instances);
  for (cell const& c : b.cells) static_cast<void>(shifted(c.offset, last));

  schedule s{.graph = b.graph,
             .where = b.where,
             .route = {},
             .cost = b.cost,
             .order = repeat_devices(b, instances),
             .mode = b.mode};
  for (int i = 0; i < instances; ++i) append(s.route, b.route);
  s.cost.passes = of_micro_batches(std::move(s.cost.passes), count.value);
  return s;
}

constexpr auto repeat(micro_batches count) {
  return closure([=](block const& b) { return repeat(b, count); });
}

}  // namespace ashlar

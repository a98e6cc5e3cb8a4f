// Random schedules whose passes change places within their device's order.
#pragma once

#include "random.hpp"
#include "shapes.hpp"
#include <ashlar/optimize/insertion_moves.hpp>
#include <ashlar/optimize/list_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace moved_passes {

using namespace ashlar;

// A schedule under uneven costs, dispatched as it is planned, and when its devices are released.
struct example {
  schedule of;
  list_scheduler scheduler;  // under no limit
  list_scheduler::solution first;
  std::vector<tick> released;

  explicit example(random_case::dice& d) : of(any_schedule(d)), scheduler(of, chunk_activations(1'000)) {
    scheduler.run(scheduler.passes().orders, {}, {}, first);
    bool const together = d.percent(50);
    for (std::vector<int> const& order : first.orders)
      released.push_back(together ? 0 : first.start[static_cast<std::size_t>(order.front())]);
  }

  precedence_graph const& passes() const { return scheduler.passes(); }
  // The delay from the end of a pass to the start of one that needs it.
  tick delay(int from, int to) const {
    return of.cost.transfer(passes().device[static_cast<std::size_t>(from)],
                            passes().device[static_cast<std::size_t>(to)]);
  }

 private:
  static schedule any_schedule(random_case::dice& d) {
    int const p = d.between(2, 4), m = d.between(2, 6);
    costs const cost(stage_cost{d.between(1, 4), d.between(1, 5), d.between(1, 3)}, d.between(0, 3));
    auto const of = d.percent(50) ? catalog::v_half : d.percent(50) ? catalog::zb_h1 : catalog::v_min;
    return of(devices{p}) | repeat(micro_batches{m}) | retime(cost);
  }
};

inline insertion_move any_move(random_case::dice& d, precedence_graph::device_orders const& orders) {
  auto const device = static_cast<std::size_t>(d.between(1, static_cast<int>(orders.size())) - 1);
  int const count = static_cast<int>(orders[device].size());
  int const first = d.between(0, count - 2), last = d.between(first + 1, std::min(first + 4, count - 1));
  return {device, static_cast<std::size_t>(first), static_cast<std::size_t>(last), d.percent(50)};
}

inline precedence_graph::device_orders moved(precedence_graph::device_orders orders,
                                             insertion_move const& m) {
  auto const first = orders[m.device].begin() + static_cast<std::ptrdiff_t>(m.first);
  auto const end = orders[m.device].begin() + static_cast<std::ptrdiff_t>(m.last) + 1;
  std::rotate(first, m.is_later ? first + 1 : end - 1, end);
  return orders;
}

}  // namespace moved_passes

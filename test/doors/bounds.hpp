// Bounds, the arguments for them, and links that are late.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/bounds/argument.hpp>
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/machine.hpp>
#include <ashlar/schedule/relocate.hpp>

#include <vector>

namespace doors {

// Changes a few fields to anything, except for counts that no memory would hold.
inline void change_workload(dice& d, workload& w) {
  int const counts[] = {-1, 0, 1, 2, 3, std::numeric_limits<int>::min()};
  auto const count = [&] { return counts[d.between(0, 5)]; };
  for (int changes = d.between(0, 2); changes > 0; --changes) switch (d.between(0, 6)) {
      case 0:
        w.micro_batch_count = count();
        break;
      case 1:
        w.on_route.push_back(count());
        break;
      case 2:
        w.sequence_chunks = count();
        break;
      case 3:
        w.splits_backward = !w.splits_backward;
        break;
      case 4:
        w.overlaps = !w.overlaps;
        break;
      case 5:
        change_cost(d, w.cost);
        break;
      default:
        w.limit = chunk_activations(extreme(d, 3));
    }
}

// Each bound has an argument, and nothing higher has one.
inline void demand_arguments(workload const& w) {
  bound const b = workload_bound(w);
  if (w.overlaps) return;
  demand(argument_of(w, b.span, true).has_value());
  demand(argument_of(w, b.makespan, false).has_value());
}

inline void of_bounds(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, s);
  bool const valid = check(s).ok();
  if (valid) demand_valid(s);
  knock([&] { schedule_bound(s); });
  knock([&] { schedule_bound(s, extreme(d, 3)); });
  if (has_path_bound(s)) {
    path_bound const b = graph_bound(s);
    demand(b.span <= span(s) && b.makespan <= makespan(s));
    demand(argument_of(s, b.span, true).has_value() && argument_of(s, b.makespan, false).has_value());
    demand(!argument_of(s, b.makespan + 1, false));
  }
  if (has_workload(s))
    knock([&] {
      workload w =
          workload_of(s, std::vector<int>(static_cast<std::size_t>(d.between(0, 3)), extreme(d, 3)));
      change_workload(d, w);
      workload_bound(w);
      // Sums of costs near the largest ticks depend on their order.
      if (check(w).ok() && busiest_work(w) < max_tick / 1'000'000) demand_arguments(w);
    });
  knock([&] { relocate(s, placement(devices{2}, {{extreme(d, 0), extreme(d, 1)}})); });
  interconnect links = s.cost.on.links;
  knock([&] { delay_link(links, extreme(d, 0), extreme(d, 1), extreme(d, tick{1})); });
}

}  // namespace doors

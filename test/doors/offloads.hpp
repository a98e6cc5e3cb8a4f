// Values that leave for the hosts of devices, and searches that may let them.
#pragma once

#include "doors/limits.hpp"
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/paged_order.hpp>

#include <cstdint>
#include <vector>

namespace doors {

inline host_link some_host(dice& d) {
  host_link host{.speed = {.latency = d.between(0, 2), .bandwidth = d.between(0, 3)}, .shared_by = 1};
  if (d.percent(20)) host.speed.latency = extreme(d, tick{1});
  if (d.percent(20)) host.speed.bandwidth = extreme(d, tick{1});
  if (d.percent(20)) host.shared_by = extreme(d, 1);
  return host;
}

inline void of_offloads(dice& d) {
  schedule s = catalog::find(d.percent(50) ? "1f1b" : "v-half")->make({devices{2}, micro_batches{3}});
  memory_limit const limit = some_limit(d);
  host_link const host = some_host(d);
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  std::vector<pass> forwards;
  for (int n = d.between(0, 2); n > 0; --n)
    forwards.push_back({pass_kind::forward, d.percent(90) ? d.between(0, 3) : extreme(d, 0),
                        d.percent(90) ? d.between(0, 2) : extreme(d, 0)});
  auto const keeps = [&](offload_choice const& c) {
    for (std::size_t i = 0; c.fits && i < c.peak.size(); ++i)
      demand(c.peak[i] <= limit.budget_of(static_cast<int>(i)));
  };
  knock([&] { copy_times(limit.memory, d.percent(90) ? s.stage_count() : extreme(d, 1), host); });
  knock([&] { keeps(selective_offload(s, limit, host)); });
  knock([&] { keeps(steady_offload(s, limit, host)); });
  knock([&] { keeps(offload_exactly(s, limit, host, forwards)); });
  knock([&] { offload_share(s, limit.memory, host, extreme(d, 50)); });
  if (d.percent(90)) return;  // what follows is 21 searches
  search_problem problem{.where = random_placement(d, devices{d.between(1, 3)}, stages{d.between(1, 4)}),
                         .m = micro_batches{d.between(-1, 3)},
                         .cost = {},
                         .limit = limit};
  for (int changes = d.between(0, 2); changes > 0; --changes) change_cost(d, problem.cost);
  knock([&] {
    if (auto const found = search_offloaded(problem, host, {.passes = d.between(-1, 300)}))
      demand(check(found->best).ok());
  });
}

}  // namespace doors

// A schedule: timed passes on each device, in order.
#pragma once

#include <ashlar/cost.hpp>
#include <ashlar/diagnosis.hpp>
#include <ashlar/placement.hpp>
#include <ashlar/stage_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A pass and its start in ticks. Its duration is the schedule's cost of the pass.
struct timed_pass {
  pass what;
  tick start = 0;

  friend constexpr bool operator==(timed_pass const&, timed_pass const&) = default;
};

struct schedule {
  stage_graph graph;
  placement where;
  std::vector<int> route;  // of each micro-batch
  costs cost;
  std::vector<std::vector<timed_pass>> order;  // by device

  constexpr int device_count() const { return where.device_count(); }
  constexpr int stage_count() const { return where.stage_count(); }
  constexpr int micro_batch_count() const { return static_cast<int>(route.size()); }
  constexpr int device_of(pass what) const {
    return where.device_of(route[static_cast<std::size_t>(what.micro_batch)], what.stage);
  }
  constexpr tick end_of(timed_pass const& t) const { return t.start + cost.of(t.what); }

  friend constexpr bool operator==(schedule const&, schedule const&) = default;
};

// A schedule of which only the orders are known, as an import gives it; all starts are 0 until it is
// squeezed. Chain of stages. Throws violation: rule::tables_agree unless `orders` has one list a device.
constexpr schedule schedule_from_orders(placement where, std::vector<int> route, costs cost,
                                        std::vector<std::vector<pass>> const& orders) {
  if (static_cast<int>(orders.size()) != where.device_count())
    throw violation{{.broken = rule::tables_agree, .number = static_cast<std::int64_t>(orders.size())}};
  schedule s{.graph = chain(stages{where.stage_count()}),
             .where = std::move(where),
             .route = std::move(route),
             .cost = std::move(cost),
             .order = std::vector<std::vector<timed_pass>>(orders.size())};
  for (std::size_t d = 0; d < orders.size(); ++d)
    for (pass what : orders[d]) s.order[d].push_back({what, 0});
  return s;
}

}  // namespace ashlar

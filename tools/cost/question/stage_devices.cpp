#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::cost {

catalog::shape shape_of(layout const& sizes, int micro_batches, costs cost) {
  catalog::shape s;
  s.p = devices{sizes.pipeline};
  s.m = ashlar::micro_batches{micro_batches};
  s.cost = std::move(cost);
  s.v = chunks{sizes.chunks};
  s.w = waves{max_of(1, sizes.chunks / 2)};
  return s;
}

void must_be_small(double micro_batches, double stages) {
  constexpr double most_passes = 2e7;
  if (3 * micro_batches * stages > most_passes)
    throw unpredictable(requirement::schedule_is_small_enough, static_cast<long long>(micro_batches),
                        static_cast<long long>(stages));
}

namespace stage_devices_detail {

// The schedule's placement. Its stages must be consecutive layers.
inline placement chain_placement(schedule const& s) {
  if (!is_chain(s.graph)) throw unpredictable(requirement::schedule_is_a_chain);
  return s.where;
}

// Builds the schedule with as few micro-batches as it can have; the placement is the same.
inline placement published_placement(question const& q) {
  double const stages = 1.0 * q.layout.pipeline * max_of(2, q.layout.chunks);
  for (int m : {1, 2, q.layout.pipeline, 2 * q.layout.pipeline}) {
    catalog::shape const few = shape_of(q.layout, m);
    if (!q.layout.published()->check(few).ok()) continue;
    must_be_small(m, stages);
    return chain_placement(q.layout.published()->make(few));
  }
  must_be_small(q.micro_batches(), stages);
  return chain_placement(q.layout.published()->make(shape_of(q.layout, q.micro_batches())));
}

}  // namespace stage_devices_detail

placement placement_of(question const& q) {
  if (!q.layout.is_executed()) {
    std::vector<int> route;
    for (int s = 0; s < q.layout.pipeline * q.layout.chunks; ++s) route.push_back(s % q.layout.pipeline);
    return {devices{q.layout.pipeline}, {route}};
  }
  placement where = q.layout.published() != nullptr
                        ? stage_devices_detail::published_placement(q)
                        : stage_devices_detail::chain_placement(*q.layout.own_order());
  if (where.device_count() != q.layout.pipeline)
    throw unpredictable(requirement::schedule_has_every_device, where.device_count(), q.layout.pipeline);
  if (q.layout.chunks > 1
      && where.stage_count() != static_cast<long long>(q.layout.chunks) * q.layout.pipeline)
    throw unpredictable(requirement::schedule_has_these_chunks, q.layout.chunks, where.stage_count());
  return where;
}

int stage_count(question const& q) {
  return q.layout.is_executed() ? placement_of(q).stage_count() : q.layout.pipeline * q.layout.chunks;
}

std::vector<std::vector<int>> stages_by_device(placement const& where) {
  std::vector<std::vector<int>> all(static_cast<std::size_t>(where.device_count()));
  for (int s = 0; s < where.stage_count(); ++s)
    for (int route = 0; route < where.route_count(); ++route) {
      std::vector<int>& here = all[static_cast<std::size_t>(where.device_of(route, s))];
      if (here.empty() || here.back() != s) here.push_back(s);
    }
  return all;
}

}  // namespace ashlar::cost

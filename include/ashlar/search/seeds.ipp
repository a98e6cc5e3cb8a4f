// Definitions of seeds.hpp.
#pragma once

#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/seeds.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::vector<published_schedule> published_on(placement const& where, micro_batches m,
                                                           costs const& cost, int sequence_chunks,
                                                           searched_entries searched,
                                                           paired_entries paired) {
  std::vector<published_schedule> found;
  int const p = where.device_count();
  if (where.route_count() > 1 || where.stage_count() % p != 0) return found;
  chunks const v{where.stage_count() / p};
  for (catalog::entry const* const listed : catalog::all_entries) {
    catalog::entry const& e = *listed;
    if (e.is_searched && searched == searched_entries::left_out) continue;
    if (e.uses(parameter::sequence_chunk_count) != (sequence_chunks > 1)) continue;
    std::vector<catalog::shape> shapes{{.p = devices{p},
                                        .m = m,
                                        .v = v,
                                        .w = waves{(v.value + 1) / 2},
                                        .sequence_chunks = sequence_chunks}};
    if (e.uses(parameter::group_size))
      for (int group : {(p + 1) / 2, p}) {
        shapes.push_back(shapes[0]);
        shapes.back().group = group;
      }
    for (catalog::shape shape : shapes) {
      if (!e.check(shape).ok()) continue;
      schedule unit = e.make(shape);
      if (!(unit.where == where) || unit.mode == execution_mode::inference) continue;
      bool pairs = false;
      for (auto const& order : unit.order)
        for (time_slot const& t : order) pairs = pairs || t.is_pair();
      if (recomputes(unit) || pairs != (paired == paired_entries::alone)) continue;
      shape.cost = cost;
      found.push_back({listed, pairs ? e.make(shape) : split_backward(e.make(shape))});
    }
  }
  return found;
}

ASHLAR_INLINE schedule one_after_another(placement const& where, micro_batches m, costs const& cost,
                                         int sequence_chunks) {
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(where.device_count()));
  int const last = where.stage_count() - 1, q = sequence_chunks;
  auto const add = [&](pass_kind kind, int stage, int micro_batch) {
    nth(orders, where.device_of(0, stage)).push_back({kind, stage, micro_batch});
  };
  for (int sequence = 0; sequence < m.value; ++sequence) {
    for (int chunk = sequence * q; chunk < (sequence + 1) * q; ++chunk)
      for (int stage = 0; stage <= last; ++stage) add(pass_kind::forward, stage, chunk);
    for (int stage = last; stage >= 0; --stage)
      for (int chunk = (sequence + 1) * q - 1; chunk >= sequence * q; --chunk) {
        add(pass_kind::backward_input, stage, chunk);
        add(pass_kind::backward_weight, stage, chunk);
      }
  }
  std::vector<int> const route(static_cast<std::size_t>(m.value * q), 0);
  schedule s = schedule_from_orders(where, route, cost, orders);
  s.graph = in_sequence_chunks(s.graph, q);
  return squeeze(s);
}

}  // namespace ashlar

// Definitions of searched.hpp.
#pragma once

#include <ashlar/catalog/searched.hpp>
#include <ashlar/catalog/v_family.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/catalog/zb_h2.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <utility>

namespace ashlar::catalog {

ASHLAR_INLINE std::int64_t search_budget_of(schedule const& s) {
  constexpr std::int64_t times = 3'000, most = 12'000'000;
  return min_of(times * static_cast<std::int64_t>(pass_count(s)), most);
}

ASHLAR_INLINE tick common_tick(costs const& c) {
  if (!c.on.speeds.empty()) return 1;
  tick common = 0;
  bool has_none = false;
  auto const divide = [&](tick t) {
    has_none = has_none || t < 0;
    if (!has_none) common = greatest_common_divisor(common, t);
  };
  for_each_link(c.on.links, [&](link_speed const& l) {
    has_none = has_none || l.bandwidth != 0;
    divide(l.latency);
  });
  c.passes.for_each([&](int, int, stage_cost const& s) {
    for (tick t : {s.forward, s.backward_input, s.backward_weight, s.of(pass_kind::recompute)})
      divide(t);
  });
  return has_none ? 1 : max_of<tick>(common, 1);
}

ASHLAR_INLINE costs in_units(costs c, tick unit) {
  if (unit < 1) refuse({.broken = rule::counts_are_positive, .number = unit});
  c.passes.change_each([&](stage_cost& s) { s.change_each([&](tick& each) { each /= unit; }); });
  for_each_link(c.on.links, [&](link_speed& l) { l.latency /= unit; });
  return c;
}

ASHLAR_INLINE diagnosis check_costs(shape const& s, int chunk_count) {
  if (diagnosis const d = check_count(s, parameter::chunk_count, chunk_count); !d.ok()) return d;
  return ashlar::check(s.cost, chunk_count * s.p.value, s.p.value, s.m.value, 1);
}

ASHLAR_INLINE schedule least_idle(schedule start, shape const& s, int limit, tick least) {
  tick const unit = common_tick(s.cost);
  costs const cost = in_units(s.cost, unit);
  least = (least + unit - 1) / unit;
  if (start.cost != cost) start = retime(std::move(start), cost);
  if (span(start) > least || peak_of_all(start) > limit)
    start = improve({start}, chunk_activations(limit),
                    {.passes = search_budget_of(start), .aim = objective::span, .goal = least});
  if (unit == 1) return start;
  start.cost = s.cost;
  for (auto& order : start.order)
    for (time_slot& t : order) t.start *= unit;
  return start;
}

ASHLAR_INLINE schedule zero_bubble_v(shape const& s, int limit) {
  must_be(check_costs(s, 2));
  tick const least = least_span(
      s, limit, [](uniform_workload const& u) { return max_of(v_shape_bound(u), warm_up_bound(u)); });
  return least_idle(v_zb(s.p) | repeat(s.m) | reorder(), s, limit, least);
}

ASHLAR_INLINE schedule zero_bubble(shape const& s, int limit) {
  must_be(check_costs(s, 1));
  tick const least = least_span(s, limit, [](uniform_workload const& u) {
    return max_of(linear_bound(u), deferred_weights_bound(u));
  });
  block start = zb_h1(s.p);
  if (limit >= 2 * s.p.value - 1) start = zb_h2(s.p);
  return least_idle(start | repeat(s.m) | squeeze(), s, limit, least);
}

}  // namespace ashlar::catalog

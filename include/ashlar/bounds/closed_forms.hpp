// Lower bounds on the span that fit in a line. workload_bound() is no lower than any of them. Workloads
// are valid (check(w)), and devices, stages and micro-batches are theirs.
#pragma once

#include <ashlar/bounds/workload.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Ticks that the busiest device works.
constexpr tick busiest_work(workload const& w) {
  std::vector<tick> work(static_cast<std::size_t>(w.where.device_count()), 0);
  tick most = 0;
  int const q = w.cost.passes.period();
  for (int route = 0; route < w.route_count(); ++route)
    for (int stage = 0; stage < w.where.stage_count(); ++stage) {
      tick once = 0;  // for a micro-batch, or all that differ
      for (int chunk = 0; chunk < q; ++chunk) {
        auto const add = [&](pass_kind kind) {
          once += w.length(kind, stage, route) + w.extra(kind, stage, chunk, route);
        };
        add(pass_kind::forward);
        if (w.mode == execution_mode::training) add(pass_kind::backward);
        if (w.recomputes(stage)) add(pass_kind::recompute);
      }
      tick& sum = nth(work, w.where.device_of(route, stage));
      sum += w.micro_batches_on(route) / q * once;
      most = sum > most ? sum : most;
    }
  return most;
}

// How long a stage's activation is held at least, if nothing has to wait. A stage may recompute while
// the others are at work.
constexpr tick shortest_lifespan(workload const& w, int stage, int route = 0) {
  tick const forward = w.length(pass_kind::forward, stage, route);
  if (w.mode == execution_mode::inference) return forward;
  tick const backward = w.length(pass_kind::backward, stage, route);
  tick const again = w.recomputes(stage) ? w.length(pass_kind::recompute, stage, route) : 0;
  tick others = 0;
  for (int next = stage + 1; next < w.where.stage_count(); ++next) {
    others += w.length(pass_kind::forward, next, route);
    others += w.hop(next - 1, next, route) + w.hop(next, next - 1, route);
    others += w.length(w.splits_backward ? pass_kind::backward_input : pass_kind::backward, next, route);
  }
  return forward + (others > again ? others : again) + backward;
}

// The time from the first forward of a micro-batch to its last input pass.
constexpr tick way_of(workload const& w, int micro_batch) {
  tick way = 0;
  auto const add = [&](pass_kind kind, int stage) {
    way += w.length(kind, stage) + w.extra(kind, stage, micro_batch);
  };
  for (int stage = 0; stage < w.where.stage_count(); ++stage) {
    if (stage > 0) way += w.hop(stage - 1, stage);
    add(pass_kind::forward, stage);
    if (w.mode == execution_mode::inference) continue;
    if (stage > 0) way += w.hop(stage, stage - 1);
    add(w.splits_backward ? pass_kind::backward_input : pass_kind::backward, stage);
  }
  return way;
}

// The longest way of a micro-batch, if they differ. In training the first stage's device takes as long,
// too.
constexpr tick longest_way(workload const& w) {
  tick most = 0;
  for (int k = 0; k < w.cost.passes.period(); ++k) {
    tick const way = way_of(w, k);
    most = way > most ? way : most;
  }
  return most;
}

// Little's law: activations times lifespans is an area of a device's memory over time.
constexpr tick area_on(workload const& w, int device) {
  tick area = 0;
  for (int route = 0; route < w.route_count(); ++route)
    for (int stage = 0; stage < w.where.stage_count(); ++stage)
      if (w.where.device_of(route, stage) == device)
        area += w.micro_batches_on(route) * shortest_lifespan(w, stage, route);
  return area == 0 ? 0 : (area - 1) / activations_on(w, device) + 1;
}
// The longest of all devices.
constexpr tick area_bound(workload const& w) {
  tick most = 0;
  for (int d = 0; d < w.where.device_count(); ++d) {
    tick const time = area_on(w, d);
    most = time > most ? time : most;
  }
  return most;
}

// Stages alike with split backwards, and the same limit on every device, in chunk activations. The
// bounds on it throw violation with check(u).
struct uniform_workload {
  devices p;
  micro_batches m;
  stage_cost cost;
  tick transfer = 0;
  int limit = workload::no_limit;
};

// At least one of each, times of zero ticks or more, and bounds within the range of ticks; otherwise
// rule::counts_are_positive, rule::no_duration_is_negative, rule::ticks_fit.
constexpr diagnosis check(uniform_workload const& u) {
  for (int const count : {u.p.value, u.m.value, u.limit})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  tick all = 0;
  for (tick const each : {u.cost.forward, u.cost.backward_input, u.cost.backward_weight, u.transfer}) {
    if (each < 0) return {.broken = rule::no_duration_is_negative, .number = each};
    all = saturating_sum(all, each);
  }
  if (saturating_product(all, 6 * (tick{u.p.value} + u.m.value)) == max_tick)
    return {.broken = rule::ticks_fit, .number = all};
  return {};
}

namespace bounding_detail {

// Work plus idle time, if that is positive; else the work.
constexpr tick at_least_work(tick work, tick idle) { return idle > 0 ? work + idle : work; }

}  // namespace bounding_detail

// One chunk a device. Device 0 takes forward `limit` only when micro-batch 0 has been through the
// pipeline and back, and in reversed time likewise; in between it works.
constexpr tick linear_bound(uniform_workload const& u) {
  must_be(check(u));
  tick const p = u.p.value, m = u.m.value, f = u.cost.forward, b = u.cost.backward_input,
             w = u.cost.backward_weight;
  tick const each = f + b + w, work = m * each;
  if (m <= u.limit) return work;
  return bounding_detail::at_least_work(
      work, (2 * p - 1) * (f + b) + w + 4 * (p - 1) * u.transfer - u.limit * each);
}

// The V-shaped placement, from the first start of device 0: device p - 1 starts p - 1 stages later,
// takes no more than `limit` forwards before its first activation is freed, and in reversed time
// likewise.
constexpr tick v_shape_bound(uniform_workload const& u) {
  must_be(check(u));
  tick const p = u.p.value, m = u.m.value, f = u.cost.forward, b = u.cost.backward_input,
             w = u.cost.backward_weight;
  tick const each = f + b + w, work = 2 * m * each;
  if (2 * m <= u.limit) return work;
  return bounding_detail::at_least_work(
      work, (3 * p - 1) * (f + b) + w + 6 * (p - 1) * u.transfer - u.limit * each);
}

// One chunk a device: idle time of the last device before its first forward and after its last backward,
// less the weight passes that it has put off.
constexpr tick deferred_weights_bound(uniform_workload const& u) {
  must_be(check(u));
  tick const p = u.p.value, m = u.m.value;
  tick const put_off = (u.limit < m ? u.limit : m) - 1;
  return bounding_detail::at_least_work(
      m * (u.cost.forward + u.cost.backward_input + u.cost.backward_weight),
      (p - 1) * (u.cost.forward + u.cost.backward_input + 2 * u.transfer)
          - put_off * u.cost.backward_weight);
}

// The V-shaped placement: before its first backward device d has nothing but forwards.
constexpr tick warm_up_bound(uniform_workload const& u) {
  must_be(check(u));
  tick const p = u.p.value, m = u.m.value, f = u.cost.forward, b = u.cost.backward_input;
  tick const forwards = u.limit < 2 * m ? u.limit : 2 * m;
  tick const d = b > f ? p - 1 : 0;  // that waits for longest
  tick const first = (2 * p - d) * f + d * b + (2 * p - 2) * u.transfer;
  tick const idle = first - forwards * f;
  return bounding_detail::at_least_work(2 * m * (f + b + u.cost.backward_weight), idle);
}

}  // namespace ashlar

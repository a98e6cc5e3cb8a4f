// Whether a schedule is right.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/block/work_register.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/taken_gradients.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>
#include <ashlar/schedule/turns.hpp>

#include <cstddef>

namespace ashlar {

// Of a schedule whose passes have not been entered.
constexpr pass_ends no_ends(schedule const& s) {
  return {s.stage_count(), s.micro_batch_count(), s.work.view()};
}

// In the order of each device. Of a schedule whose passes are known.
constexpr diagnosis check_taken_gradients(schedule const& s) {
  taken_gradients taken(s.work.view(), s.stage_count(), s.micro_batch_count());
  for (int d = 0; d < s.device_count() && !taken.empty(); ++d) {
    taken.begin_device();
    std::vector<time_slot> const& order = nth(s.order, d);
    for (timed_pass const t : each_pass(order)) {
      int const index = static_cast<int>(t.slot - order.data());
      if (diagnosis const found = taken.visit({.device = d, .index = index, .what = t.what});
          !found.ok())
        return found;
    }
    if (diagnosis const found = taken.end_device(); !found.ok()) return found;
  }
  return {};
}

// Sizes and costs agree. Every pass is known, is there once, and is on the device of its route, at a
// time within the range of ticks. Every (stage, micro-batch) has its forward and its backward, fused or
// split. Every part of a compute job is there once, on its device. Nothing is said about times, so the
// orders of an import can be checked, too. Fills `ends` with the end of every pass.
constexpr diagnosis check_passes(schedule const& s, pass_ends& ends) {
  int const stage_count = s.stage_count(), m = s.micro_batch_count();
  if (m < 1 || stage_count < 1) return {.broken = rule::counts_are_positive, .number = m};
  if (diagnosis const d = check_tables(s); !d.ok()) return d;

  for (std::size_t device = 0; device < s.order.size(); ++device) {
    time_slot const* const first = s.order[device].data();
    for (std::size_t i = 0, count = s.order[device].size(); i < count; ++i) {
      time_slot const& t = first[i];
      site const where{.device = static_cast<int>(device), .index = static_cast<int>(i), .what = t.what};
      bool const works = t.what.kind == pass_kind::work;
      if (!works && !s.graph.has(t.what, m))
        return {.broken = rule::every_pass_is_known, .first = where};
      if (t.start <= -max_tick || t.start >= max_tick)
        return {.broken = rule::ticks_fit, .first = where, .number = t.start};
      if (!t.is_right()) return {.broken = rule::overlapped_passes_are_a_pair, .first = where};
      if (works) {
        if (diagnosis const d = ends.work.enter(where, false, s.end_of(t, where.device)); !d.ok())
          return d;
        continue;
      }
      if (t.is_pair() && !s.graph.has(t.beside, m))
        return {.broken = rule::every_pass_is_known,
                .first = {.device = where.device, .index = where.index, .what = t.beside}};
      tick const end = s.end_of(t, where.device);
      for (pass what = t.what;; what = t.beside) {
        if (int const right = s.device_of(what); right != where.device)
          return {.broken = rule::pass_is_on_its_device,
                  .first = {.device = where.device, .index = where.index, .what = what},
                  .second = {.device = right, .what = what}};
        if (!ends.passes.enter(what, end))
          return ends.passes.clash({.device = where.device, .index = where.index, .what = what});
        if (!t.is_pair() || what.kind != pass_kind::forward) break;
      }
    }
  }
  diagnosis d = ends.passes.complete(s.graph, m, s.mode);
  if (!d.ok()) d.first.device = s.device_of(d.first.what);
  if (!d.ok() || s.work.empty()) return d;
  if (d = ends.work.complete(s.graph, s.where, s.route, ends.passes, true); !d.ok()) return d;
  return check_taken_gradients(s);
}

constexpr diagnosis check_passes(schedule const& s) {
  pass_ends ends = no_ends(s);
  return check_passes(s, ends);
}

// check_passes, and: passes of a device do not overlap, and nothing starts before its inputs have
// arrived. If every pass takes time, there can be no cycle then; else the orders of what starts together
// must have none. Fills `ends` with the end of every pass. Linear.
constexpr diagnosis check(schedule const& s, pass_ends& ends) {
  if (diagnosis const d = check_passes(s, ends); !d.ok()) return d;
  for (std::size_t device = 0; device < s.order.size(); ++device) {
    time_slot const* const order = s.order[device].data();
    std::size_t const count = s.order[device].size();
    tick free = count == 0 ? 0 : order[0].start;
    for (std::size_t i = 0; i < count; ++i) {
      time_slot const& t = order[i];
      int const here = static_cast<int>(device), index = static_cast<int>(i);
      if (t.start < free)
        return {.broken = rule::passes_do_not_collide,
                .first = {.device = here, .index = index, .what = t.what},
                .second = {.device = here, .index = index - 1, .what = order[i - 1].what},
                .number = free - t.start};
      free = ends.of(t.what);
      for (pass what = t.what;; what = t.beside) {
        site const where{.device = here, .index = index, .what = what};
        if (!s.work.empty())
          if (diagnosis const d = ends.work.check_inputs(where, t.start, ends.passes); !d.ok()) return d;
        if (what.kind == pass_kind::work) break;
        int const route = nth(s.route, what.micro_batch);
        diagnosis const d = check_inputs(s.graph, s.cost, where, t.start, ends.passes,
                                         [&](int stage) { return s.where.device_of(route, stage); });
        if (!d.ok()) return d;
        if (!t.is_pair() || what.kind != pass_kind::forward) break;
      }
    }
  }
  if (!s.cost.passes.has_instants()) return {};
  return take_turns(s, [](std::size_t, std::size_t) {});
}

constexpr diagnosis check(schedule const& s) {
  pass_ends ends = no_ends(s);
  return check(s, ends);
}

}  // namespace ashlar

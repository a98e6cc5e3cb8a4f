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
    int index = 0;
    for (timed_pass const& t : nth(s.order, d))
      if (diagnosis const found = taken.visit({.device = d, .index = index++, .what = t.what});
          !found.ok())
        return found;
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
    std::vector<timed_pass> const& order = s.order[device];
    timed_pass const* const first = order.data();
    for (std::size_t i = 0, count = order.size(); i < count; ++i) {
      timed_pass const& t = first[i];
      site const where{.device = static_cast<int>(device), .index = static_cast<int>(i), .what = t.what};
      bool const works = t.what.kind == pass_kind::work;
      if (!works && !s.graph.has(t.what, m))
        return {.broken = rule::every_pass_is_known, .first = where};
      if (t.start <= -max_tick || t.start >= max_tick)
        return {.broken = rule::ticks_fit, .first = where, .number = t.start};
      if (t.overlaps >= stage_count || (works && t.overlaps >= 0))
        return {.broken = rule::overlapped_passes_are_a_pair, .first = where};
      if (works) {
        if (diagnosis const d = ends.work.enter(where, false, s.end_of(t, where.device)); !d.ok())
          return d;
        continue;
      }
      if (int const right = s.device_of(t.what); right != where.device)
        return {.broken = rule::pass_is_on_its_device,
                .first = where,
                .second = {.device = right, .what = t.what}};
      if (t.overlaps >= 0) {
        if (!is_paired_right(order, i))
          return {.broken = rule::overlapped_passes_are_a_pair, .first = where};
        // A pass does not name its partner's chunk: unless pairs have a cost of their own, all are
        // alike.
        if (int const q = s.cost.passes.period(); q != 1 && !s.cost.passes.overlapped.are_given())
          return wrong_size(s.cost.passes.micro_batches() != 0 ? table::micro_batch_costs
                                                               : table::sequence_chunk_costs,
                            q, 1);
      }
      if (!ends.passes.enter(t.what, s.end_of(t, where.device))) return ends.passes.clash(where);
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
    timed_pass const* const order = s.order[device].data();
    std::size_t const count = s.order[device].size();
    tick free = count == 0 ? 0 : order[0].start;
    for (std::size_t i = 0; i < count; ++i) {
      pass const what = order[i].what;
      site const where{.device = static_cast<int>(device), .index = static_cast<int>(i), .what = what};
      if (order[i].start < free && !order[i].closes_pair())
        return {.broken = rule::passes_do_not_collide,
                .first = where,
                .second = {.device = where.device, .index = where.index - 1, .what = order[i - 1].what},
                .number = free - order[i].start};
      free = ends.of(what);
      if (!s.work.empty())
        if (diagnosis const d = ends.work.check_inputs(where, order[i].start, ends.passes); !d.ok())
          return d;
      if (what.kind == pass_kind::work) continue;
      int const route = nth(s.route, what.micro_batch);
      diagnosis const d = check_inputs(s.graph, s.cost, where, order[i].start, ends.passes,
                                       [&](int stage) { return s.where.device_of(route, stage); });
      if (!d.ok()) return d;
    }
  }
  if (!s.cost.passes.has_instants()) return {};
  return take_turns(s, [](std::size_t, std::size_t, std::size_t) {});
}

constexpr diagnosis check(schedule const& s) {
  pass_ends ends = no_ends(s);
  return check(s, ends);
}

}  // namespace ashlar

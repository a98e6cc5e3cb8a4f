// Checks that a schedule is right.
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

// The ends in a schedule whose passes have not been entered.
constexpr pass_ends no_ends(schedule const& s) {
  return {s.stage_count(), s.micro_batch_count(), s.work.view()};
}

// Checks each device in its order. The schedule's passes are known.
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

// The rule broken by a pass that exists and could not be entered.
constexpr diagnosis why_not_entered(schedule const& s, pass_ends const& ends, site const& where) {
  if (int const right = s.device_of(where.what); right != where.device)
    return {.broken = rule::pass_is_on_its_device,
            .first = where,
            .second = {.device = right, .what = where.what}};
  return ends.passes.clash(where);
}

// Checks that sizes and costs agree. Every pass is known, is there once, and is on the device of its
// route, at a time within the range of ticks. Every (stage, micro-batch) has its forward and its
// backward, fused or split. Every part of a compute job is there once, on its device. Nothing is said
// about times, so the orders of an import can be checked, too. Fills `ends` with the end of every pass.
constexpr diagnosis check_passes(schedule const& s, pass_ends& ends) {
  int const stage_count = s.stage_count(), m = s.micro_batch_count();
  if (m < 1 || stage_count < 1) return {.broken = rule::counts_are_positive, .number = m};
  if (diagnosis const d = check_tables(s); !d.ok()) return d;

  for (std::size_t device = 0; device < s.order.size(); ++device) {
    time_slot const* const first = s.order[device].data();
    for (std::size_t i = 0, count = s.order[device].size(); i < count; ++i) {
      time_slot const& t = first[i];
      int const here = static_cast<int>(device);
      auto const at = [&](pass const& what) {
        return site{.device = here, .index = static_cast<int>(i), .what = what};
      };
      bool const works = t.what.kind == pass_kind::work;
      if (!works && !s.graph.has(t.what, m))
        return {.broken = rule::every_pass_is_known, .first = at(t.what)};
      if (t.start <= -max_tick || t.start >= max_tick)
        return {.broken = rule::ticks_fit, .first = at(t.what), .number = t.start};
      bool const pair = t.is_pair();
      if (pair) {
        if (!t.is_right()) return {.broken = rule::overlapped_passes_are_a_pair, .first = at(t.what)};
        if (!s.graph.has(t.beside, m))
          return {.broken = rule::every_pass_is_known, .first = at(t.beside)};
      }
      if (works) {
        if (diagnosis const d = ends.work.enter(at(t.what), false, s.end_of(t, here)); !d.ok()) return d;
        continue;
      }
      tick const end = s.end_of(t, here);
      auto const enter = [&](pass const& what) {
        return s.device_of(what) == here && ends.passes.enter(what, end);
      };
      if (!enter(t.what)) return why_not_entered(s, ends, at(t.what));
      if (pair && !enter(t.beside)) return why_not_entered(s, ends, at(t.beside));
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

// Checks that a pass starts when all that it needs has arrived.
constexpr diagnosis check_start(schedule const& s, pass_ends const& ends, site const& where,
                                tick start) {
  if (diagnosis const d = ends.work.check_inputs(where, start, ends.passes); !d.ok()) return d;
  if (is_part(where.what)) return {};
  int const route = nth(s.route, where.what.micro_batch);
  return check_inputs(s.graph, s.cost, where, start, ends.passes,
                      [&](int stage, result r) { return s.where.device_of(route, stage, r); });
}

// Runs check_passes, and checks that passes of a device do not overlap, and nothing starts before its
// inputs have arrived. If every pass takes time, there can be no cycle then; else the orders of passes
// that start together must have none. Fills `ends` with the end of every pass. Linear.
constexpr diagnosis check(schedule const& s, pass_ends& ends) {
  if (diagnosis const d = check_passes(s, ends); !d.ok()) return d;
  bool const has_work = !s.work.empty(), are_free = s.cost.are_transfers_free();
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
      auto const is_in_time = [&](pass const& what) {
        return are_inputs_in_time(s.graph, what, t.start, ends.passes, [&](int stage, result r) {
          if (are_free) return tick{0};
          return s.cost.transfer(s.where.device_of(nth(s.route, what.micro_batch), stage, r), here);
        });
      };
      if (has_work || !is_in_time(t.what))
        if (diagnosis const d =
                check_start(s, ends, {.device = here, .index = index, .what = t.what}, t.start);
            !d.ok())
          return d;
      if (t.is_pair() && (has_work || !is_in_time(t.beside)))
        if (diagnosis const d =
                check_start(s, ends, {.device = here, .index = index, .what = t.beside}, t.start);
            !d.ok())
          return d;
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

// Checks that the parts of a schedule go together, for any passes.
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/moving.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// Checks that there is an order for each device, a stage of the graph for each of the placement, an
// existing route for each micro-batch, and costs for all of them, with sums within the range of ticks.
// Nothing is said about passes. O(devices + stages + micro-batches).
constexpr diagnosis check_tables(schedule const& s) {
  int const stage_count = s.stage_count(), m = s.micro_batch_count();
  if (s.graph.count() != stage_count)
    return wrong_size(table::stages_of_graph, s.graph.count(), stage_count);
  if (static_cast<int>(s.order.size()) != s.device_count())
    return wrong_size(table::device_orders, s.order.size(), s.device_count());
  if (diagnosis const d = check_routes(s.graph, s.where, s.route); !d.ok()) return d;
  if (s.where.moves() && !can_move(s.graph, s.work.view()))
    return {.broken = rule::moving_stages_are_whole};
  return check(s.cost, stage_count, s.device_count(), m, s.graph.sequence_chunks());
}

// Checks the passes of a slot: those of a stage, micro-batch or job that exists, at a start within the
// range of ticks, alone or a forward with a backward. The slot exists.
constexpr diagnosis check_slot(schedule const& s, std::size_t device, std::size_t index) {
  time_slot const& t = s.order[device][index];
  site at{.device = static_cast<int>(device), .index = static_cast<int>(index), .what = t.what};
  if (!t.is_right()) return {.broken = rule::overlapped_passes_are_a_pair, .first = at};
  for (pass const* what = &t.what; what != nullptr; what = t.after(what)) {
    at.what = *what;
    if (!s.knows(*what)) return {.broken = rule::every_pass_is_known, .first = at};
  }
  if (t.start <= -max_tick || t.start >= max_tick)
    return {.broken = rule::ticks_fit, .first = at, .number = t.start};
  return {};
}

// Checks that there are as many stages on devices as in the graph, that micro-batches that belong
// together are all there, and each slot: then the inputs of each pass exist. O(passes).
constexpr diagnosis check_slots(schedule const& s) {
  if (s.graph.count() != s.stage_count())
    return wrong_size(table::stages_of_graph, s.graph.count(), s.stage_count());
  if (s.micro_batch_count() % s.graph.together() != 0)
    return {.broken = rule::micro_batches_fill_blocks, .number = s.graph.together()};
  for (std::size_t device = 0; device < s.order.size(); ++device)
    for (std::size_t i = 0; i < s.order[device].size(); ++i)
      if (diagnosis const d = check_slot(s, device, i); !d.ok()) return d;
  return {};
}

// Runs check_tables and check_slots: then the cost of each pass can be looked up. O(passes).
constexpr diagnosis check_form(schedule const& s) {
  if (diagnosis const d = check_tables(s); !d.ok()) return d;
  return check_slots(s);
}

// Throws violation{check_form(s)}.
constexpr void must_have_form(schedule const& s) {
  if (diagnosis const d = check_form(s); !d.ok()) refuse(d);
}

}  // namespace ashlar

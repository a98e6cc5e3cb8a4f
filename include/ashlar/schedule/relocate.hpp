// A schedule on another placement.
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>
#include <ashlar/schedule/turns.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Moves the passes to other devices. Each device takes the passes that fall to it in the order of their
// starts, and the result is squeezed. Micro-batches keep their routes if there are as many, and else
// take them in turn (those that belong together the same one); pairs are undone. The inputs of a pass
// end before it starts or, where that takes no time, come before it in `s`, so any placement of the
// stages will do. Costs are those on the new devices. O(n log n). Throws violation: rule::tables_agree
// for another number of stages, speeds of another number of devices, or work of other systems, which has
// devices of its own; check_slots(s); as must_stay() and squeeze do.
constexpr schedule relocate(schedule s, placement where) {
  if (where.stage_count() != s.stage_count())
    refuse(wrong_size(table::stages_of_placement, where.stage_count(), s.stage_count()));
  must_be(check(s.cost, where.stage_count(), where.device_count(), s.micro_batch_count(),
                s.graph.sequence_chunks()));
  if (!s.work.view().empty()) refuse({.broken = rule::tables_agree, .number = where.stage_count()});
  must_be(check_slots(s));
  must_stay(s.where);
  must_stay(where);
  if (where.route_count() < 1) refuse({.broken = rule::counts_are_positive});
  int const q = s.graph.together(), routes = where.route_count();
  if (routes != s.where.route_count())
    for (std::size_t k = 0; k < s.route.size(); ++k) s.route[k] = static_cast<int>(k) / q % routes;
  must_be(check_each_route(s.graph, where, s.route));
  // A pass that a device takes, by start, end, and turn among all that start and end together.
  struct moved {
    time_slot slot;
    tick end;
    std::size_t turn;
  };
  std::vector<std::vector<moved>> orders(static_cast<std::size_t>(where.device_count()));
  costs lengths = s.cost;
  lengths.on.speeds.clear();  // the new devices have them
  std::size_t turn = 0;
  auto const take = [&](std::size_t d, std::size_t index) {
    time_slot const& t = s.order[d][index];
    int const here = static_cast<int>(d);
    tick const end =
        t.start + (t.is_pair() ? lengths.of_pair(t.what, t.beside, here) : lengths.of(t.what, here));
    for (pass const* what = &t.what; what != nullptr; what = t.after(what)) {
      int const route = nth(s.route, what->micro_batch);
      nth(orders, where.device_of(route, what->stage)).push_back({{*what, t.start}, end, turn++});
    }
  };
  bool const has_instants = s.cost.passes.has_instants();
  if (has_instants) {
    if (diagnosis const d = take_turns(s, take); !d.ok()) refuse(d);
  } else {
    for (std::size_t d = 0; d < s.order.size(); ++d)
      for (std::size_t i = 0; i < s.order[d].size(); ++i) take(d, i);
  }
  auto const is_earlier = [&](moved const& a, moved const& b) {
    if (a.slot.start != b.slot.start || !has_instants) return a.slot.start < b.slot.start;
    return a.end != b.end ? a.end < b.end : a.turn < b.turn;
  };
  s.order.assign(orders.size(), {});
  for (std::size_t d = 0; d < orders.size(); ++d) {
    merge_sort(orders[d], is_earlier);
    for (moved const& each : orders[d]) s.order[d].push_back(each.slot);
  }
  s.where = std::move(where);
  return squeeze(std::move(s));
}

}  // namespace ashlar

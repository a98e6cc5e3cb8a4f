// Definitions of precedence_graph.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/optimize/precedence_graph.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE precedence_graph::precedence_graph(schedule const& s, memory_model const& memory)
    : stage_count_(s.stage_count()), micro_batch_count_(s.micro_batch_count()) {
  must_have_form(s);
  if (diagnosis const d = check(memory, s.stage_count()); !d.ok()) refuse(d);
  result_table<int> giver(s.stage_count(), s.micro_batch_count(), nobody);
  orders.resize(s.order.size());
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::vector<int> stream_of(static_cast<std::size_t>(s.stage_count() * pass_kinds), nobody);
    int streams = 0;
    for (std::size_t i = 0; i < s.order[d].size(); ++i) {
      time_slot const& t = s.order[d][i];
      site const where{.device = static_cast<int>(d), .index = static_cast<int>(i), .what = t.what};
      if (is_part(t.what)) refuse({.broken = rule::every_pass_is_known, .first = where});
      if (t.is_pair()) refuse({.broken = rule::overlapped_passes_are_a_pair, .first = where});
      auto const number = static_cast<int>(what.size());
      giver.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind)) = number;
      orders[d].push_back(number);
      what.push_back(t.what);
      device.push_back(static_cast<int>(d));
      length.push_back(s.cost.of(t.what, where.device));
      stage_memory const& stage = memory.of(t.what.stage, t.what.micro_batch);
      takes.push_back(stage.taken_by(t.what.kind));
      gives.push_back(stage.given_back_by(t.what.kind, s.mode));
      stage_memory held = stage;
      held.stash_left = stage_memory::all;
      late_gives.push_back(held.given_back_by(t.what.kind, s.mode));
      int& own = stream_of[static_cast<std::size_t>(t.what.stage * pass_kinds)
                           + static_cast<std::size_t>(t.what.kind)];
      if (own < 0) own = streams++;
      stream.push_back(std::uint64_t{1} << static_cast<unsigned>(own % 64));
    }
  }
  if (late_gives == gives) late_gives.clear();
  auto const for_each_need = [&](auto f) {
    for (std::size_t x = 0; x < what.size(); ++x)
      for_each_input(s.graph, what[x], [&](result r, int stage, int micro_batch) {
        if (int const y = giver.at(micro_batch, stage, r); y >= 0) f(static_cast<int>(x), y);
      });
  };
  needs = {what.size(), [&](auto add) { for_each_need(add); }};
  feeds = {what.size(), [&](auto add) { for_each_need([&](int x, int y) { add(y, x); }); }};
}

ASHLAR_INLINE precedence_graph::device_orders precedence_graph::orders_of(schedule const& s) const {
  if (s.stage_count() != stage_count_)
    refuse(wrong_size(table::stages_of_placement, s.stage_count(), stage_count_));
  if (s.micro_batch_count() != micro_batch_count_)
    refuse(wrong_size(table::micro_batches_of_schedule, s.micro_batch_count(), micro_batch_count_));
  if (s.order.size() != orders.size())
    refuse(wrong_size(table::device_orders, s.order.size(), static_cast<std::int64_t>(orders.size())));
  result_table<int> number(s.stage_count(), s.micro_batch_count(), nobody);
  for (std::size_t x = 0; x < what.size(); ++x)
    number.at(what[x].micro_batch, what[x].stage, result_of(what[x].kind)) = static_cast<int>(x);
  device_orders all(s.order.size());
  std::size_t count = 0;
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (timed_pass const t : each_pass(s.order[d])) {
      site const where{.device = static_cast<int>(d), .what = t.what};
      int const x = number.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind));
      if (x == nobody || nth(what, x) != t.what)
        refuse({.broken = rule::every_pass_is_known, .first = where});
      if (nth(device, x) != where.device)
        refuse({.broken = rule::pass_is_on_its_device, .first = where});
      all[d].push_back(x);
      ++count;
    }
  if (count != what.size()) refuse({.broken = rule::every_pass_is_present});
  return all;
}

}  // namespace ashlar

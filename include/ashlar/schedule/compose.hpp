// Schedules out of schedules: one after another, side by side, mirrored, cut.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Renames device d to p - 1 - d, with its speed. mirror(mirror(s)) == s; repeat(mirror(b), m) ==
// mirror(repeat(b, m)).
constexpr schedule mirror(schedule s) {
  s.work = mirror(s.work, s.device_count());
  s.where = mirror(std::move(s.where));
  reverse(s.order);
  s.cost.on = mirrored(std::move(s.cost.on), s.where.device_count());
  return s;
}

// Starts every pass `by` ticks later. Throws violation{rule::ticks_fit} for a start that is out of range
// before or after.
constexpr schedule shift(schedule s, tick by) {
  for (auto& order : s.order)
    for (time_slot& t : order) t.start = shifted(t.start, by);
  return s;
}

// The routes, micro-batches and jobs of `b` are numbered after those of `a`. A placement that both share
// stays one. Throws violation: check_form(); rule::tables_agree for different numbers of devices or
// stages; rule::parts_are_alike.
constexpr schedule renumber_behind(schedule const& a, schedule b) {
  must_have_form(a);
  must_have_form(b);
  if (a.device_count() != b.device_count())
    refuse(wrong_size(table::devices_of_placement, b.device_count(), a.device_count()));
  if (a.stage_count() != b.stage_count())
    refuse(wrong_size(table::stages_of_placement, b.stage_count(), a.stage_count()));
  if (a.graph != b.graph || a.mode != b.mode) refuse({.broken = rule::parts_are_alike});
  b.cost = joined(a.cost, a.micro_batch_count(), b.cost, b.micro_batch_count());
  if (a.where != b.where) {
    for (int& route : b.route) route += a.where.route_count();
    b.where = overlay(a.where, b.where);
  }
  std::vector<int> route = a.route;
  append(route, b.route);
  b.route = std::move(route);
  for (auto& order : b.order)
    for (time_slot& t : order) {
      if (t.what.kind == pass_kind::work)
        t.what = part_id{part_of(t.what).job + a.work.job_count(), part_of(t.what).part};
      else
        t.what.micro_batch += a.micro_batch_count();
      if (t.is_pair()) t.beside.micro_batch += a.micro_batch_count();
    }
  if (!a.work.empty() || !b.work.empty()) b.work = overlay(a.work, b.work, a.micro_batch_count());
  return b;
}

// Side by side on the same devices: the micro-batches of `a`, then those of `b`, every pass at its own
// start; passes that start together come in the order a, b, those that take no time before others.
// Whether they overlap is for check() to say, and for squeeze() to mend. repeat(x, n + k) ==
// merge(repeat(x, n), shift(repeat(x, k), n / group * interval)). Linear.
constexpr schedule merge(schedule const& a, schedule const& b) {
  schedule behind = renumber_behind(a, b);
  bool const has_instants = a.cost.passes.has_instants();
  auto const takes_time = [&](schedule const& s, std::size_t d, time_slot const& t) {
    return s.end_of(t, static_cast<int>(d)) > t.start;
  };
  for (std::size_t d = 0; d < a.order.size(); ++d) {
    std::vector<time_slot> const &first = a.order[d], &second = behind.order[d];
    std::vector<time_slot> merged;
    merged.reserve(first.size() + second.size());
    std::size_t next = 0;  // of the first
    for (time_slot const& t : second) {
      bool const goes_first = has_instants && !takes_time(behind, d, t);
      while (next < first.size() && first[next].start <= t.start
             && (!goes_first || first[next].start < t.start || !takes_time(a, d, first[next])))
        merged.push_back(first[next++]);
      merged.push_back(t);
    }
    while (next < first.size()) merged.push_back(first[next++]);
    behind.order[d] = std::move(merged);
  }
  return behind;
}

// One after another, with a flush between: `b` starts when the last pass of `a` has ended. Squeeze to
// let them interlock. Throws violation{check_form(a)}, and as merge() and shift() do.
constexpr schedule then(schedule const& a, schedule const& b) {
  must_have_form(a);  // before its makespan is asked for
  return merge(a, shift(b, makespan(a)));
}

// Keeps only the first `count` micro-batches and all work, at their old times; of an overlapped pair one
// pass may be left, which is then alone. Throws violation: check_form(s); rule::counts_are_positive
// unless 1 <= count <= m; rule::micro_batches_fill_blocks where it parts micro-batches that belong
// together; rule::every_pass_is_present for a pass that is left out and that work reads, or that reads
// work.
constexpr schedule take(schedule s, micro_batches count) {
  must_have_form(s);
  if (count.value < 1 || count.value > s.micro_batch_count())
    refuse({.broken = rule::counts_are_positive, .number = count.value});
  if (count.value % s.graph.together() != 0)
    refuse({.broken = rule::micro_batches_fill_blocks, .number = s.graph.together()});
  for (work_edge const& e : s.work.edges())
    for (pass const& what : {e.from, e.to})
      if (what.kind != pass_kind::work && what.micro_batch >= count.value)
        refuse({.broken = rule::every_pass_is_present, .first = {.what = what}});
  while (s.micro_batch_count() > count.value) s.route.pop_back();
  s.cost.passes = of_micro_batches(std::move(s.cost.passes), count.value);
  auto const stays = [&](pass const& what) {
    return what.kind == pass_kind::work || what.micro_batch < count.value;
  };
  for (auto& order : s.order) {
    std::vector<time_slot> kept;
    for (time_slot const& t : order)
      if (t.is_pair() && stays(t.beside) != stays(t.what))
        kept.push_back({stays(t.what) ? t.what : t.beside, t.start});
      else if (stays(t.what))
        kept.push_back(t);
    order = std::move(kept);
  }
  return s;
}

// Splits each fused backward into an input and a weight pass, one right after the other; pairs stay
// whole. Work that read the output of the backward reads that of the input pass, and the input pass
// reads what the backward read. Throws violation{check_form(s)}.
constexpr schedule split_backward(schedule s) {
  must_have_form(s);
  if (!s.work.empty()) {
    auto const stage_count = static_cast<std::size_t>(s.stage_count());
    dynamic_array<char> splits(stage_count * s.route.size(), 0);
    auto const number = [&](pass what) {  // unknown passes lie beyond the table
      auto const stage = static_cast<std::size_t>(what.stage);
      auto const k = static_cast<std::size_t>(what.micro_batch);
      return stage < stage_count && k < s.route.size() ? k * stage_count + stage : splits.size();
    };
    for (auto const& order : s.order)
      for (time_slot const& t : order)
        if (t.what.kind == pass_kind::backward && number(t.what) < splits.size())
          splits[number(t.what)] = 1;
    s.work = renamed(s.work, [&](pass what, bool) {
      if (what.kind == pass_kind::backward && number(what) < splits.size() && splits[number(what)] != 0)
        what.kind = pass_kind::backward_input;
      return what;
    });
  }
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::vector<time_slot> split;
    for (time_slot t : s.order[d]) {
      bool const fused = t.what.kind == pass_kind::backward;
      if (fused) t.what.kind = pass_kind::backward_input;
      split.push_back(t);
      if (!fused) continue;
      t.start += s.cost.of(t.what, static_cast<int>(d));
      t.what.kind = pass_kind::backward_weight;
      split.push_back(t);
    }
    s.order[d] = std::move(split);
  }
  return s;
}

namespace compose_detail {

// Runs the forwards of passes that are `named`, by stage and micro-batch, once more.
template <class Named>
constexpr schedule recompute(schedule s, Named is_named) {
  s.work = renamed(s.work, [&](pass what, bool is_read) {
    if (is_read && what.kind == pass_kind::forward && is_named(what)) what.kind = pass_kind::recompute;
    return what;
  });
  for (auto& order : s.order) {
    std::vector<time_slot> longer;
    for (time_slot const& t : order) {
      for (pass const* what = &t.what; what != nullptr; what = t.after(what)) {
        bool const named = what->kind != pass_kind::work && is_named(*what);
        if (named && what->kind == pass_kind::recompute)
          refuse({.broken = rule::no_pass_is_doubled,
                  .first = {.device = static_cast<int>(&order - s.order.data()), .what = *what}});
        if (named && gives_input_gradient(what->kind))
          longer.push_back({{pass_kind::recompute, what->stage, what->micro_batch}, t.start});
      }
      longer.push_back(t);
    }
    order = std::move(longer);
  }
  return squeeze(std::move(s));
}

}  // namespace compose_detail

// Runs the forwards of these stages once more, each right before the backward that needs it (of an
// overlapped pair, before the pair), and squeezes. Work that read the output of a forward reads that of
// its recompute, and has to stand after it. Throws violation{rule::no_pass_is_doubled} for a stage that
// recomputes already, and as squeeze does. Linear, times the stages named.
constexpr schedule recompute(schedule s, std::vector<int> const& again) {
  return compose_detail::recompute(std::move(s),
                                   [&](pass const& what) { return contains(again, what.stage); });
}

constexpr auto then(schedule next) {
  return closure([next = std::move(next)](schedule const& s) { return then(s, next); });
}
constexpr auto merge(schedule other) {
  return closure([other = std::move(other)](schedule const& s) { return merge(s, other); });
}
constexpr auto take(micro_batches count) {
  return closure([=](auto&& s) { return take(std::forward<decltype(s)>(s), count); });
}

}  // namespace ashlar

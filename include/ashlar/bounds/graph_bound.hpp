// A lower bound for stages of any graph: paths and work.
#pragma once

#include <ashlar/bounds/bound_argument.hpp>
#include <ashlar/bounds/earliest_starts.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The time that must lie before, within and after the passes of a micro-batch on each stage, on one
// route. Where micro-batches differ, the shortest on each stage counts.
class graph_paths {
 public:
  // `splits`: by stage, whether its gradient of the input comes without that of the weights.
  constexpr graph_paths(schedule const& s, int route, dynamic_array<char> const& splits)
      : s_(s), route_(route), splits_(splits) {
    auto const count = static_cast<std::size_t>(s.stage_count());
    bool const trains = s.mode == execution_mode::training;
    head_.assign(count, 0);
    tail_.assign(count, 0);
    within_.assign(count, 0);
    for (int stage = 0; stage < s.stage_count(); ++stage)
      for (int before : s.graph.predecessors(stage)) {
        tick const all = meetings_of(stage, before);
        raise(head_, stage, head(before) + all * forward(before) + transfer(before, stage));
        if (trains) raise(tail_, stage, transfer(stage, before) + all * backward(before) + tail(before));
      }
    for (int stage = s.stage_count(); stage-- > 0;) {
      tick deeper = 0;
      for (int after : s.graph.successors(stage))
        deeper = bounding_detail::later(
            deeper, transfer(stage, after) + (trains ? transfer(after, stage) : 0) + within(after));
      bool const returns = trains && !s.graph.gives_gradient_early(stage);
      nth(within_, stage) = forward(stage) + deeper + (returns ? backward(stage) : 0);
    }
  }

  // The time before the first forward can start, from when the last gradient of the input is there to
  // the end, and from the start of a forward to the end of that gradient.
  constexpr tick head(int stage) const { return nth(head_, stage); }
  constexpr tick tail(int stage) const { return nth(tail_, stage); }
  constexpr tick within(int stage) const { return nth(within_, stage); }

 private:
  constexpr int device(int stage) const { return s_.where.device_of(route_, stage); }
  constexpr tick forward(int stage) const { return shortest(pass_kind::forward, stage); }
  constexpr tick backward(int stage) const {
    bool const splits = nth(splits_, stage) != 0;
    return shortest(splits ? pass_kind::backward_input : pass_kind::backward, stage);
  }
  // The shortest of all micro-batches.
  constexpr tick shortest(pass_kind kind, int stage) const {
    tick least = s_.cost.of({kind, stage, 0}, device(stage));
    for (int k = 1; k < s_.cost.passes.period(); ++k)
      if (s_.graph.runs(stage, k)) least = min_of(least, s_.cost.of({kind, stage, k}, device(stage)));
    return least;
  }
  constexpr tick transfer(int a, int b) const { return s_.cost.transfer(device(a), device(b)); }
  constexpr tick meetings_of(int stage, int other) const {
    return matching_micro_batches(s_.graph.size_of(stage), s_.graph.size_of(other));
  }
  static constexpr void raise(std::vector<tick>& table, int stage, tick to) {
    tick& now = nth(table, stage);
    now = bounding_detail::later(now, to);
  }

  schedule const& s_;
  int route_;
  dynamic_array<char> const& splits_;
  std::vector<tick> head_, tail_, within_;
};

// No valid schedule of the same passes on the same devices has a span or a makespan below these, with
// any memory.
struct path_bound {
  tick span = 0, makespan = 0;
  tick work = 0;  // of the busiest device

  friend constexpr bool operator==(path_bound const&, path_bound const&) = default;
};

// Whether the schedule is valid, its sequences are whole, and no passes overlap.
constexpr bool has_path_bound(schedule const& s) {
  if (s.graph.sequence_chunks() != 1 || !check(s).ok()) return false;
  for (auto const& order : s.order)
    for (time_slot const& t : order)
      if (t.is_pair()) return false;
  return true;
}

// Calls visit(bound_argument, span, makespan) with each argument for a bound of a schedule that has one,
// and the times that it shows. A device's work takes place between the earliest start of a stage there
// and what must follow the last gradient that it gives; and some path is the longest. Linear in passes
// and edges.
template <class Visit>
constexpr void for_each_path_argument(schedule const& s, Visit&& visit) {
  constexpr int none = -1;
  dynamic_array<char> splits(static_cast<std::size_t>(s.stage_count()), 0);
  std::vector<tick> work(s.order.size(), 0);
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    for (time_slot const& t : s.order[d]) {
      if (is_part(t.what)) continue;  // of other systems, which only adds
      work[d] += s.cost.of(t.what, static_cast<int>(d));
      if (t.what.kind == pass_kind::backward_input) nth(splits, t.what.stage) = 1;
    }
    visit(bound_argument{argument_kind::work, static_cast<int>(d)}, work[d], work[d]);
  }
  if (s.where.moves()) return;  // paths are between devices of whole stages
  std::vector<tick> head(s.order.size(), none), tail(s.order.size(), none);
  auto const lower_to = [](tick& now, tick to) { now = now == none || to < now ? to : now; };
  for (int route = 0; route < s.where.route_count(); ++route) {
    int first = 0;  // of the micro-batches that take it
    while (first < s.micro_batch_count() && nth(s.route, first) != route) ++first;
    if (first == s.micro_batch_count()) continue;
    graph_paths const paths(s, route, splits);
    for (int stage = 0; stage < s.stage_count(); ++stage) {
      int const device = s.where.device_of(route, stage);
      auto const d = static_cast<std::size_t>(device);
      lower_to(head[d], paths.head(stage));
      // Nothing waits for a last pass that gives no gradient of the input.
      bool const ends = nth(splits, stage) != 0 || s.graph.gives_gradient_early(stage);
      lower_to(tail[d], ends ? 0 : paths.tail(stage));
      bound_argument const along{.by = argument_kind::path, .device = device};
      bound_argument from = along;
      from.from = {pass_kind::forward, stage, first};
      tick const within = paths.within(stage);
      visit(from, within, within);
      visit(along, tick{0}, paths.head(stage) + within + paths.tail(stage));
    }
  }
  for (std::size_t d = 0; d < work.size(); ++d)
    if (head[d] != none)
      visit(bound_argument{.by = argument_kind::path, .device = static_cast<int>(d)}, tick{0},
            head[d] + work[d] + tail[d]);
}

// The bound of a schedule that has one.
constexpr path_bound graph_bound(schedule const& s) {
  path_bound b;
  for_each_path_argument(s, [&](bound_argument const& why, tick span, tick makespan) {
    if (why.by == argument_kind::work) b.work = bounding_detail::later(b.work, span);
    b.span = bounding_detail::later(b.span, span);
    b.makespan = bounding_detail::later(b.makespan, makespan);
  });
  return b;
}

}  // namespace ashlar

// Stages out of operators: a graph of operators cut into stages, and the graph of these.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A cut of operators into stages. Operators form a stage_graph, too, with the finest stages possible.
struct operator_partition {
  stage_graph graph;          // an edge for each edge of operators that crosses; sizes are 1
  std::vector<int> stage_of;  // by operator
  std::vector<int> number;    // of each stage as it was given, its number in `graph`

  friend constexpr bool operator==(operator_partition const&, operator_partition const&) = default;
};

// Checks that there is a stage for each operator, and stages are numbered from 0 without gaps:
// rule::tables_agree. Linear.
constexpr diagnosis check_stage_numbers(stage_graph const& operators, std::vector<int> const& stage_of) {
  int const n = operators.count();
  if (static_cast<int>(stage_of.size()) != n)
    return wrong_size(table::stages_of_operators, stage_of.size(), n);
  int last = -1;
  dynamic_array<char> used(stage_of.size(), 0);
  for (int stage : stage_of) {
    if (stage < 0 || stage >= n) return {.broken = rule::tables_agree, .number = stage};
    nth(used, stage) = 1;
    last = max_of(last, stage);
  }
  for (int stage = 0; stage <= last; ++stage)
    if (nth(used, stage) == 0) return {.broken = rule::tables_agree, .number = stage};
  return {};
}

// A path of operators that leaves a stage and comes back, or none if all stages are convex. It is the
// shortest one for the lowest stage that has one. `stage_of` has the stage of each operator. Throws
// violation{check_stage_numbers(operators, stage_of)}. O(stages * (operators + edges)).
constexpr std::vector<int> find_returning_path(stage_graph const& operators,
                                               std::vector<int> const& stage_of) {
  must_be(check_stage_numbers(operators, stage_of));
  constexpr int nobody = -1;
  auto const n = static_cast<std::size_t>(operators.count());
  int last = 0;
  for (int stage : stage_of) last = max_of(last, stage);
  std::vector<int> reached, from;
  for (int stage = 0; stage <= last; ++stage) {
    reached.clear();
    from.assign(n, nobody);
    for (std::size_t o = 0; o < n; ++o)
      if (stage_of[o] == stage) reached.push_back(static_cast<int>(o));
    std::size_t const inside = reached.size();
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (int after : operators.successors(reached[i])) {
        bool const is_inside = nth(stage_of, after) == stage;
        if (is_inside && i >= inside) {
          std::vector<int> path(1, after);
          for (int o = reached[i]; o != nobody; o = nth(from, o)) path.push_back(o);
          reverse(path);
          return path;
        }
        if (is_inside || nth(from, after) != nobody) continue;
        nth(from, after) = reached[i];
        reached.push_back(after);
      }
  }
  return {};
}

// Numbers the stages so that edges ascend, the lowest first if there is a choice. Stages of a cycle get
// no number, -1. Throws violation: rule::counts_are_positive, rule::parameter_is_at_most for more than
// most_stages, rule::stage_edges_ascend for an edge that leaves 0 .. stage_count-1. O(stages * (stages +
// edges)).
constexpr std::vector<int> ascending_numbers(int stage_count, std::vector<stage_edge> const& edges) {
  if (stage_count < 0) refuse({.broken = rule::counts_are_positive, .number = stage_count});
  must_be(at_most(parameter::stage_count, stage_count, most_stages));
  for (stage_edge const& e : edges)
    if (min_of(e.from, e.to) < 0 || max_of(e.from, e.to) >= stage_count)
      refuse({.broken = rule::stage_edges_ascend, .number = e.to});
  auto const count = static_cast<std::size_t>(stage_count);
  std::vector<int> waits(count, 0), number(count, -1);
  for (stage_edge const& e : edges) ++nth(waits, e.to);
  for (int next = 0; next < stage_count; ++next) {
    std::size_t free = 0;
    while (free < count && (number[free] >= 0 || waits[free] > 0)) ++free;
    if (free == count) break;
    number[free] = next;
    for (stage_edge const& e : edges)
      if (static_cast<std::size_t>(e.from) == free) --nth(waits, e.to);
  }
  return number;
}

namespace partition_detail {

constexpr std::vector<stage_edge> crossing_edges(stage_graph const& operators,
                                                 std::vector<int> const& stage_of) {
  std::vector<stage_edge> edges;
  for (int o = 0; o < operators.count(); ++o)
    for (int after : operators.successors(o)) {
      stage_edge const e{nth(stage_of, o), nth(stage_of, after)};
      bool known = e.from == e.to;
      for (std::size_t i = 0; i < edges.size() && !known; ++i) known = edges[i] == e;
      if (!known) edges.push_back(e);
    }
  return edges;
}

}  // namespace partition_detail

// Whether operators may be cut so; `stage_of` has the stage of each, in the order of the operators.
// They are as check_stage_numbers() has them; no path of
// operators leaves a stage and comes back (rule::stages_are_convex: `first` and `second` have the
// operators at both ends of it as `index`); stages do not need each other in a cycle
// (rule::stages_have_no_cycle: two of them). O(stages^2 + (stages + crossing edges) * edges).
constexpr diagnosis check_partition(stage_graph const& operators, std::vector<int> const& stage_of) {
  if (diagnosis const d = check_stage_numbers(operators, stage_of); !d.ok()) return d;
  int stage_count = 0;
  for (int stage : stage_of) stage_count = max_of(stage_count, stage + 1);
  if (std::vector<int> const path = find_returning_path(operators, stage_of); !path.empty()) {
    int const stage = nth(stage_of, path.front());
    return {.broken = rule::stages_are_convex,
            .first = {.index = path.front(), .what = {.stage = stage}},
            .second = {.index = path.back(), .what = {.stage = stage}},
            .number = nth(stage_of, path[1])};
  }
  std::vector<stage_edge> const edges = partition_detail::crossing_edges(operators, stage_of);
  std::vector<int> const number = ascending_numbers(stage_count, edges);
  // A stage without a number waits for another one without: following such edges back leads into a
  // cycle.
  int at = -1;
  for (int stage = 0; stage < stage_count; ++stage)
    if (nth(number, stage) < 0) at = stage;
  if (at < 0) return {};
  int before = at;
  for (int step = 0; step <= stage_count; ++step) {
    before = at;
    for (stage_edge const& e : edges)
      if (e.to == before && nth(number, e.from) < 0) at = e.from;
  }
  return {.broken = rule::stages_have_no_cycle,
          .first = {.what = {.stage = at}},
          .second = {.what = {.stage = before}}};
}

// The stage graph of operators. Where an edge leads to a lower number, stages are numbered anew.
// Throws violation with check_partition(), and takes as long.
constexpr operator_partition partitioned(stage_graph const& operators, std::vector<int> stage_of) {
  if (diagnosis const d = check_partition(operators, stage_of); !d.ok()) refuse(d);
  int stage_count = 0;
  for (int stage : stage_of) stage_count = max_of(stage_count, stage + 1);
  std::vector<stage_edge> edges = partition_detail::crossing_edges(operators, stage_of);
  operator_partition p{.graph = {}, .stage_of = {}, .number = ascending_numbers(stage_count, edges)};
  auto const renumber = [&](int stage) { return nth(p.number, stage); };
  for (stage_edge& e : edges) e = {renumber(e.from), renumber(e.to)};
  for (int& stage : stage_of) stage = renumber(stage);
  p.graph = stage_graph(stages{stage_count}, edges);
  p.stage_of = static_cast<std::vector<int>&&>(stage_of);
  return p;
}

}  // namespace ashlar

// Changes values to what no reader or builder would ever make: numbers at the ends of their range, and
// what stands elsewhere.
#pragma once

#include "random.hpp"
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

namespace extreme_fields {

using namespace random_case;

// A number at an end of the range, next to what stands there, or small.
template <class Int>
Int extreme(dice& d, Int old) {
  Int const least = std::numeric_limits<Int>::min(), most = std::numeric_limits<Int>::max();
  Int const near[] = {least,
                      static_cast<Int>(least + 1),
                      -2,
                      -1,
                      0,
                      1,
                      2,
                      77,
                      static_cast<Int>(most - 1),
                      most,
                      old == least ? most : static_cast<Int>(old - 1),
                      old == most ? least : static_cast<Int>(old + 1)};
  return near[d.between(0, static_cast<int>(std::size(near)) - 1)];
}

// Any byte is a value of such an enumeration; those next to its last enumerator, more often.
template <class Enum>
Enum any_of(dice& d, int last) {
  return static_cast<Enum>(d.percent(80) ? d.between(0, last + 1) : d.between(0, 255));
}

template <class List>
auto& one_of(dice& d, List& list) {
  return list[static_cast<std::size_t>(d.between(0, static_cast<int>(list.size()) - 1))];
}

// It also takes what another element holds in the same place, which is often a legal value.
template <class List, class Struct, class Int>
inline void put(dice& d, List& list, Int Struct::*field) {
  if (list.empty()) return;
  Int& changed = one_of(d, list).*field;
  changed = d.percent(40) ? one_of(d, list).*field : extreme(d, changed);
}

inline void change_pass(dice& d, pass& what) {
  switch (d.between(0, 2)) {
    case 0:
      what.kind = any_of<pass_kind>(d, pass_kinds - 1);
      return;
    case 1:
      what.stage = extreme(d, what.stage);
      return;
    default:
      what.micro_batch = extreme(d, what.micro_batch);
  }
}

template <class Int>
inline void change_list(dice& d, std::vector<Int>& list) {
  int const way = d.between(0, 9);
  if (way == 0)
    list.push_back(extreme(d, Int{0}));
  else if (!list.empty() && way == 1)
    list.pop_back();
  else if (!list.empty()) {
    Int& changed = one_of(d, list);
    changed = d.percent(30) ? one_of(d, list) : extreme(d, changed);
  }
}

inline void change_cost(dice& d, execution_costs& cost) {
  auto const any_count = [&] { return static_cast<std::size_t>(d.between(1, 5)); };
  switch (d.between(0, 9)) {
    case 0:
      cost.on.links.inside.latency = extreme(d, cost.on.links.inside.latency);
      return;
    case 5:
      change_list(d, cost.on.speeds);
      return;
    case 6:
      cost.on.speeds.assign(static_cast<std::size_t>(d.between(1, 4)), d.between(1, 300));
      return;
    case 7:
      cost.on.links.node_size = extreme(d, cost.on.links.node_size);
      cost.on.links.between = {extreme(d, tick{3}), extreme(d, tick{2})};
      return;
    case 8:
      cost.on.links.inside.bandwidth = extreme(d, cost.on.links.inside.bandwidth);
      cost.on.links.inside.period = extreme(d, tick{1});
      return;
    case 9:
      cost.on.links.exceptions = {{extreme(d, 0), extreme(d, 1), {extreme(d, tick{3})}}};
      cost.on.links.wider = {{extreme(d, 2), {extreme(d, tick{3})}}};
      return;
    case 1:
      cost.passes.overlapped = extreme(d, cost.passes.overlapped.longest());
      if (d.percent(30)) {
        int const stage_count = d.between(1, 3);
        cost.passes.overlapped = pair_costs::by_stage(
            std::vector<tick>(3 * static_cast<std::size_t>(stage_count * stage_count),
                              extreme(d, tick{2})),
            stage_count);
      }
      return;
    case 2:
      cost.passes = d.percent(50)
                        ? pass_costs(std::vector<stage_cost>(any_count()))
                        : pass_costs::by_stage_and_micro_batch(std::vector<stage_cost>(any_count()), 1);
      return;
    default:
      tick stage_cost::*const fields[] = {&stage_cost::forward, &stage_cost::backward_input,
                                          &stage_cost::backward_weight, &stage_cost::recompute};
      tick& one = cost.passes.at(0).*fields[d.between(0, 3)];
      one = extreme(d, one);
  }
}

inline void change_cost(dice& d, costs& cost) {
  if (d.percent(10))
    cost.message = extreme(d, cost.message);
  else
    change_cost(d, static_cast<execution_costs&>(cost));
}

inline void change_memory(dice& d, memory_model& memory) {
  if (d.percent(30)) memory.stages.resize(static_cast<std::size_t>(d.between(0, 5)));
  if (memory.stages.empty()) return;
  byte_count stage_memory::*const fields[] = {
      &stage_memory::weights,        &stage_memory::optimizer_state,  &stage_memory::weight_gradient,
      &stage_memory::activation,     &stage_memory::gradient,         &stage_memory::checkpoint,
      &stage_memory::stash,          &stage_memory::stash_left,       &stage_memory::weight_stash,
      &stage_memory::sequence_state, &stage_memory::sequence_gradient};
  put(d, memory.stages, fields[d.between(0, 10)]);
  if (d.percent(20)) memory.micro_batches = d.percent(50) ? d.between(0, 5) : extreme(d, 1);
}

inline void change_graph(dice& d, stage_graph& graph) {
  int const count = d.between(1, 2) == 1 ? graph.count() : d.between(1, 9);
  if (d.percent(50)) graph = random_graph(d, std::max(count, 1));
  try {
    if (d.percent(50))
      graph = in_sequence_chunks(graph, d.percent(20) ? 2'000'000'000 : d.between(1, 4));
    if (d.percent(80)) return;
    std::vector<int> sizes(static_cast<std::size_t>(graph.count()));
    for (int& size : sizes) size = d.percent(10) ? extreme(d, 1) : 1 << d.between(0, 2);
    graph = in_micro_batches(graph, sizes);
  } catch (violation const& v) {
    CHECK(!explain(v.why, schedule{}).empty());
  }
}

inline placement other_placement(dice& d, placement const& where) {
  int const stage_count = d.percent(70) ? where.stage_count() : d.between(1, 9);
  int const p = d.percent(70) && where.device_count() > 0 ? where.device_count() : d.between(1, 5);
  std::vector<std::vector<int>> routes(static_cast<std::size_t>(d.between(1, 3)));
  for (auto& route : routes)
    for (int s = 0; s < stage_count; ++s) route.push_back(d.between(0, p - 1));
  return placement(devices{p}, routes);
}

// Groups of any placement, with anything in common, if there can be such.
inline void change_groups(dice& d, parameter_groups& groups, placement const& where) {
  std::vector<std::vector<int>> shared;
  if (d.percent(50)) shared = groups.shared();
  for (int more = d.between(0, 2); more > 0; --more) {
    std::vector<int> list(static_cast<std::size_t>(d.between(0, 3)));
    for (int& stage : list)
      stage = d.percent(5) ? extreme(d, 0) : d.between(0, std::max(where.stage_count() - 1, 0));
    shared.push_back(list);
  }
  try {
    groups = parameter_groups(d.percent(60) ? where : other_placement(d, where), shared);
  } catch (violation const& v) {
    CHECK(!explain(v.why, schedule{}).empty());
  }
}

// An action of any kind, with any state and gradient.
inline job_action some_action(dice& d) {
  auto const number = [&] { return d.percent(90) ? d.between(0, 3) : extreme(d, 0); };
  if (d.percent(30)) return all_reduce_job{.over_ranks = d.percent(50)};
  compute_job made;
  if (d.percent(30)) made.state = own_state{.is_cleared = d.percent(30)};
  if (d.percent(20)) made.state = shared_state{number()};
  if (d.percent(10)) made.gradient = take_gradient{number()};
  if (d.percent(10)) made.gradient = read_gradient{number()};
  if (d.percent(10)) made.gradient = give_gradient{number()};
  return made;
}

// Another table of work, if there can be such a one.
inline void change_work(dice& d, work_graph& work) {
  std::vector<work_job> jobs = ashlar::jobs_of(work);
  std::vector<work_edge> edges = ashlar::edges_of(work);
  work_job* const job = jobs.empty() ? nullptr : &one_of(d, jobs);
  work_edge* const edge = edges.empty() ? nullptr : &one_of(d, edges);
  switch (d.between(0, 9)) {
    case 0:
      jobs.push_back({.parts = {{d.between(0, 3), 1}}, .does = some_action(d)});
      break;
    case 1:
      jobs.clear();
      edges.clear();
      break;
    case 2:
      if (job != nullptr) put(d, job->parts, &work_part::device);
      break;
    case 3:
      if (job != nullptr) put(d, job->parts, &work_part::duration);
      break;
    case 4:
    case 5:
      if (job != nullptr) job->does = some_action(d);
      break;
    case 6:
      if (edge != nullptr) edges.erase(edges.begin() + (edge - edges.data()));
      break;
    case 7:
      if (edge != nullptr) change_pass(d, edge->from);
      break;
    case 8:
      if (edge != nullptr) change_pass(d, edge->to);
      break;
    default:
      edges.push_back({{any_of<pass_kind>(d, pass_kinds - 1), d.between(0, 3), d.between(0, 3)},
                       {any_of<pass_kind>(d, pass_kinds - 1), d.between(0, 3), d.between(0, 3)}});
  }
  try {
    work = work_graph(jobs, edges);
  } catch (violation const& v) {
    CHECK(!explain(v.why, schedule{}).empty());
  }
}

}  // namespace extreme_fields

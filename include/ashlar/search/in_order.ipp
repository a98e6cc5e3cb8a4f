// Definitions of in_order.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/search/in_order.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::search_detail {

inline void must_be_order(std::vector<int> const& order, int count) {
  if (static_cast<int>(order.size()) != count)
    refuse(wrong_size(table::micro_batch_costs, order.size(), count));
  std::vector<char> seen(order.size(), 0);
  for (int const k : order) {
    site const at{.what = {pass_kind::forward, 0, k}};
    if (k < 0 || k >= count) refuse({.broken = rule::every_pass_is_known, .first = at});
    if (std::exchange(nth(seen, k), char{1}) != 0)
      refuse({.broken = rule::no_pass_is_doubled, .first = at, .second = at});
  }
}

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE pass_costs in_order(pass_costs const& given, std::vector<int> const& order) {
  if (given.micro_batches() == 0) return given;
  search_detail::must_be_order(order, given.micro_batches());
  std::vector<stage_cost> all;
  for (int stage = 0; stage == 0 || stage < given.stages(); ++stage)
    for (int const k : order) all.push_back(given.of(stage, k));
  pass_costs made = pass_costs::by_stage_and_micro_batch(std::move(all), static_cast<int>(order.size()));
  made.overlapped = given.overlapped;
  return made;
}

ASHLAR_INLINE memory_model in_order(memory_model const& given, std::vector<int> const& order) {
  if (given.micro_batches == 0) return given;
  search_detail::must_be_order(order, given.micro_batches);
  memory_model made = given;
  std::size_t const row = order.size();
  for (std::size_t first = 0; first + row <= made.stages.size(); first += row)
    for (std::size_t k = 0; k < row; ++k)
      made.stages[first + k] = given.stages[first + static_cast<std::size_t>(order[k])];
  return made;
}

ASHLAR_INLINE search_problem in_order(search_problem problem, std::vector<int> const& order) {
  problem.cost.passes = in_order(problem.cost.passes, order);
  problem.limit.memory = in_order(problem.limit.memory, order);
  if (problem.machine) {
    simulation_options machine = *problem.machine;
    machine.cost.passes = in_order(machine.cost.passes, order);
    machine.memory = in_order(machine.memory, order);
    problem.machine = machine;
  }
  return problem;
}

}  // namespace ashlar

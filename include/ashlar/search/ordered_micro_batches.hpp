// Micro-batches in the places of a schedule, and the budget for finding them.
#pragma once

#include <ashlar/core/literal_optional.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/optimize/budget.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// The budget of such a search.
struct order_budget {
  std::int64_t evaluations = 2'000;  // schedules that are timed
  std::uint64_t seed = 1;
  objective aim = objective::makespan;  // or span
};

// Micro-batches in the places of a schedule.
struct ordered_micro_batches {
  std::vector<int> order = {};  // by place: which of the given ones
  schedule best = {};           // under the costs of its places
  tick reached = 0;
  literal_optional<tick> least = std::nullopt;  // that no order is below, if a bound is known
  bool is_best = false;                         // proved: all orders were tried, or the bound is reached
  std::int64_t evaluations = 0;
};

}  // namespace ashlar

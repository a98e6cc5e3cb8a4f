// Whether costs are for as many stages and devices as there are.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>

namespace ashlar {

// One entry for all stages or one each; a speed for each device, or none: else rule::tables_agree.
constexpr diagnosis check_sizes(costs const& cost, int stage_count, int device_count) {
  if (cost.per_stage.size() != 1 && static_cast<int>(cost.per_stage.size()) != stage_count)
    return wrong_size(table::stage_costs, cost.per_stage.size(), stage_count);
  if (!cost.speeds.empty() && static_cast<int>(cost.speeds.size()) != device_count)
    return wrong_size(table::device_speeds, cost.speeds.size(), device_count);
  return {};
}

}  // namespace ashlar

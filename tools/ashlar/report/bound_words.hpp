// Prints a bound beside what was reached.
#pragma once

#include "options/durations.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/bounds/lower_bound.hpp>

#include <fmt/core.h>

#include <optional>
#include <string>

namespace tool {

// The words for a makespan: "no less than 33, gap 0.00 %", or that there is no bound.
inline std::string bound_words(ashlar::tick makespan, std::optional<ashlar::bound> const& least,
                               time_scale const& scale) {
  if (!least) return "without a bound";
  return fmt::format("no less than {}, gap {} %", scale.number(least->makespan),
                     percent(proved_gap(makespan, least->makespan)));
}

}  // namespace tool

// Plans whose schedules have no closed form: the catalog's others, executed on the best layouts.
#pragma once

#include "plan/predicted_plan.hpp"
#include "plan/shown_plans.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

// Layouts that these schedules are executed on.
inline constexpr std::size_t executed_layouts = 3;

// Adds what fits: each entry on the first of `plans` that have a pipeline, and those with pairs on
// `for_pairs`. Layers are divided evenly, or as is best for as many stages in one row. With
// `may_run_again`, plans that do not fit recompute the cheapest parts of their layers. With `shown`,
// those with the lowest bounds are executed first, and none whose bound is above the last that is shown
// by then: the plans that are shown are the same. Returns the entries of which nothing was added, each
// with the reason: "hanayo: it has 16 stages, and the model 8 layers"; with `shown`, returns none.
std::vector<std::string> add_executed(std::vector<predicted_plan>& plans,
                                      std::vector<predicted_plan> const& for_pairs,
                                      std::vector<ashlar::catalog::entry const*> const& entries,
                                      bool may_run_again, shown_plans const* shown = nullptr);

}  // namespace tool

// Plans whose schedules have no closed form: the catalog's others, executed on the best layouts.
#pragma once

#include "plan/predicted_plan.hpp"

#include <string>
#include <vector>

namespace tool {

// Layouts that these schedules are executed on.
inline constexpr std::size_t executed_layouts = 3;

// Schedules other than those with a closed form, by name or all; and whether 1F1B and its interleaved
// form are among the names. Throws usage_error.
std::vector<ashlar::catalog::entry const*> executed_entries(std::string const& names, bool& has_1f1b,
                                                            bool& interleaves);

// Whether one of them has passes that run as a pair.
bool any_has_pairs(std::vector<ashlar::catalog::entry const*> const& entries);

// Adds what fits: each entry on the first of `plans` that have a pipeline, and those with pairs on
// `for_pairs`. Layers are divided evenly, or as is best for as many stages in one row. With
// `may_run_again`, plans that do not fit recompute the cheapest parts of their layers. Returns the
// entries of which nothing was added, each with the reason: "hanayo: it has 16 stages, and the model 8
// layers".
std::vector<std::string> add_executed(std::vector<predicted_plan>& plans,
                                      std::vector<predicted_plan> const& for_pairs,
                                      std::vector<ashlar::catalog::entry const*> const& entries,
                                      bool may_run_again);

}  // namespace tool

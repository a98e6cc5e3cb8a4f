// The schedules of the catalog that `ashlar plan` executes, because they have no closed form.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/cost/step/step_bound.hpp>

#include <string>
#include <vector>

namespace tool {

// Schedules other than those with a closed form, by name or all; and whether 1F1B and its interleaved
// form are among the names. Throws usage_error.
std::vector<ashlar::catalog::entry const*> executed_entries(std::string const& names, bool& has_1f1b,
                                                            bool& interleaves);

// Whether the schedule, or one of them, has passes that run as a pair.
bool has_pairs(ashlar::catalog::entry const& e);
bool any_has_pairs(std::vector<ashlar::catalog::entry const*> const& entries);

// The traits of a small one; all that may be, where there is none.
ashlar::cost::schedule_traits traits_of(ashlar::catalog::entry const& e);

}  // namespace tool

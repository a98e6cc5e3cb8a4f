// The layouts that `ashlar search` looks at: which of them the limit leaves, and over which links they
// send.
#pragma once

#include "commands/search_report.hpp"
#include <ashlar/optimize/budget.hpp>
#include <ashlar/search/layouts.hpp>

#include <vector>

namespace tool {

// The objective that --objective names.
ashlar::objective aim_of(search_options const& o);

// All layouts, by whether the limit leaves a schedule.
struct choices {
  std::vector<ashlar::layout_choice> feasible = {};
  std::vector<infeasible_layout> infeasible = {};
};

choices choices_of(search_options const& o);

// Throws usage_error for a late link that no layout sends anything over.
void must_be_taken(late_links const& late, choices const& known);

}  // namespace tool

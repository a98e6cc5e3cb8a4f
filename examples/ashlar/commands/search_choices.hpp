// What `ashlar search` looks at: layouts, orders of micro-batches, pairs.
#pragma once

#include "commands/search_report.hpp"
#include <ashlar/optimize/budget.hpp>
#include <ashlar/search/layouts.hpp>

#include <vector>

namespace tool {

// Of --objective.
ashlar::objective aim_of(search_options const& o);

// All layouts, by whether the limit leaves a schedule.
struct choices {
  std::vector<ashlar::layout_choice> feasible = {};
  std::vector<infeasible_layout> infeasible = {};
};

choices choices_of(search_options const& o);

// Each layout also with its micro-batches in another order, where one is found that helps.
std::vector<ashlar::layout_choice> with_orders(std::vector<ashlar::layout_choice> const& plain,
                                               ashlar::objective aim);

// Throws usage_error for a late link that no layout sends anything over.
void must_be_taken(late_links const& late, choices const& known);

// Pairs in each, within the evaluations of the search.
void braid_all(std::vector<ashlar::searched_layout>& all, search_options const& o);

}  // namespace tool

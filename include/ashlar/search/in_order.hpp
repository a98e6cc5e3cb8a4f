// Costs and sizes of micro-batches that stand in another order.
#pragma once

#include <ashlar/core/pass_costs.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/search/problem.hpp>

#include <vector>

namespace ashlar {

// Costs and sizes by place: micro-batch order[k] of those given stands in place k. Those that are alike
// stay so. Throws violation unless `order` has each of them once: rule::tables_agree,
// rule::every_pass_is_known, rule::no_pass_is_doubled.
pass_costs in_order(pass_costs const& given, std::vector<int> const& order);
memory_model in_order(memory_model const& given, std::vector<int> const& order);
search_problem in_order(search_problem problem, std::vector<int> const& order);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/in_order.ipp>
#endif

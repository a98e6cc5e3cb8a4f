// The table of costs, for tests that want all of it.
#pragma once

#include <ashlar/core/pass_costs.hpp>

#include <vector>

// The entries of a stage follow each other.
inline std::vector<ashlar::stage_cost> entries_of(ashlar::pass_costs const& passes) {
  std::vector<ashlar::stage_cost> all;
  passes.for_each([&](int, int, ashlar::stage_cost const& c) { all.push_back(c); });
  return all;
}

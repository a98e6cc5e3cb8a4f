// Costs of pairs of passes in JSON.
#pragma once

#include <ashlar/core/pair_costs.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <iterator>

namespace ashlar {

// The keys of the kinds of backward, in the order of pair_costs::backwards.
inline constexpr char const* pair_keys[] = {"backward", "backward_input", "backward_weight"};
static_assert(std::size(pair_keys) == std::size(pair_costs::backwards));

// Writes ticks: one number for all pairs; or, for each kind of backward, a row for each forward's stage
// with the time in a pair with each backward's stage. Requires given pairs.
inline nlohmann::ordered_json to_json(pair_costs const& pairs) {
  using nlohmann::ordered_json;
  if (pairs.stages() == 0) return pairs.longest();
  ordered_json all = ordered_json::object();
  for (std::size_t kind = 0; kind < std::size(pair_keys); ++kind) {
    ordered_json& rows = all[pair_keys[kind]] = ordered_json::array();
    for (int ahead = 0; ahead < pairs.stages(); ++ahead) {
      ordered_json& row = rows.emplace_back(ordered_json::array());
      for (int back = 0; back < pairs.stages(); ++back)
        row.push_back(pairs.of(ahead, pair_costs::backwards[kind], back));
    }
  }
  return all;
}

}  // namespace ashlar

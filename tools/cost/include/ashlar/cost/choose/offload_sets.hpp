// Sets of parts of layers that may be offloaded to the host.
#pragma once

#include <ashlar/core/sort.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/kept.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::cost::layouts_detail {

// Bytes per token that leave, over all layers.
inline double leaving_bytes_of_model(question const& q, offloaded parts, constants const& c) {
  std::vector<double> of_kind;
  for (layer const& l : q.model.kinds)
    of_kind.push_back(leaving_bytes(q, l, q.layout.recompute, true, parts, c));
  double bytes = 0;
  for (int each : q.model.layers) bytes += of_kind[static_cast<std::size_t>(each)];
  return bytes;
}

// Returns each set of parts that layers have, fewest bytes first, one set for each number of bytes.
// Attention's result leaves only with its inputs, which its backward needs as well.
inline std::vector<offloaded> offload_sets_of(question const& q, constants const& c) {
  struct choice {
    offloaded parts = offloaded::none;
    double bytes = 0;
  };
  std::vector<choice> all;
  for (unsigned bits = 1; bits < static_cast<unsigned>(offloaded::all); ++bits) {
    auto const parts = static_cast<offloaded>(bits);
    if (has(parts, offloaded::attention_result) && !has(parts, offloaded::attention)) continue;
    double const bytes = leaving_bytes_of_model(q, parts, c);
    // Skips the set if its last part adds no bytes in this model.
    unsigned const without = bits & (bits - 1);
    if (bytes > 0 && bytes > leaving_bytes_of_model(q, static_cast<offloaded>(without), c))
      all.push_back({parts, bytes});
  }
  merge_sort(all, [](choice const& a, choice const& b) { return a.bytes < b.bytes; });
  std::vector<offloaded> sets;
  double so_far = 0;
  for (choice const& each : all) {
    if (each.bytes > so_far) sets.push_back(each.parts);
    so_far = each.bytes;
  }
  return sets;
}

}  // namespace ashlar::cost::layouts_detail

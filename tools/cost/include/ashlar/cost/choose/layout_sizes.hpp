// Candidate sizes of a layout: divisors, formats of products, sets of parts to recompute.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/cost/cluster/cluster.hpp>
#include <ashlar/cost/layout/recomputation.hpp>
#include <ashlar/cost/model/architecture.hpp>
#include <ashlar/cost/question/stack.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::cost::layouts_detail {

inline std::vector<int> divisors_of(int n) {
  std::vector<int> all;
  for (int d = 1; d <= n / d; ++d)
    if (n % d == 0) {
      all.push_back(d);
      if (d != n / d) all.push_back(n / d);
    }
  merge_sort(all, [](int a, int b) { return a < b; });
  return all;
}

// The greatest common divisor of the layers' numbers of experts; expert ranks divide it.
inline int common_experts(architecture const& a) {
  int common = 0;
  for (layer const& l : a.kinds)
    if (l.feed.kind == feed_forward_kind::experts && l.feed.experts >= 1 && l.feed.experts < 1e9)
      common = greatest_common_divisor(common, static_cast<int>(l.feed.experts));
  return common == 0 ? 1 : common;
}

// The formats in which all devices have products, widest first.
inline std::vector<number_format> formats_of(cluster const& on) {
  using enum number_format;
  std::vector<int> all_kinds;
  for (std::size_t k = 0; k < on.kinds.size(); ++k) all_kinds.push_back(static_cast<int>(k));
  machine const m = slowest_of(on, all_kinds).device();
  std::vector<number_format> all{has_products(m, bf16) ? bf16 : fp16};
  for (number_format narrow : {has_products(m, mxfp8) ? mxfp8 : fp8, nvfp4})
    if (has_products(m, narrow)) all.push_back(narrow);
  return all;
}

// Sets of this model's parts that may be recomputed.
inline std::vector<recomputation> part_sets_of(architecture const& a) {
  std::vector<recomputation> parts{recomputation::attention, recomputation::norms};
  bool compressed = false, dense = false, shared = false;
  for (layer const& l : a.kinds) {
    compressed = compressed || l.mix.kind == mixer_kind::compressed;
    dense = dense || l.feed.kind == feed_forward_kind::dense;
    shared = shared || l.feed.shared_width > 0;
  }
  if (compressed) parts.push_back(recomputation::up_projections);
  if (dense) parts.push_back(recomputation::dense);
  if (a.has_experts()) {
    parts.push_back(recomputation::activation);
    parts.push_back(recomputation::experts);
  }
  if (shared) parts.push_back(recomputation::shared_expert);
  std::vector<recomputation> sets{recomputation::none};
  for (recomputation part : parts) {
    std::size_t const so_far = sets.size();
    for (std::size_t i = 0; i < so_far; ++i) {
      recomputation const with = sets[i] | part;
      // `experts` includes these two.
      bool const twice = has(with, recomputation::experts)
                         && has(with, recomputation::activation | recomputation::shared_expert);
      if (!twice) sets.push_back(with);
    }
  }
  sets.erase(sets.begin());
  return sets;
}

}  // namespace ashlar::cost::layouts_detail

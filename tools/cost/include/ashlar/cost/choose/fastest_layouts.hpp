// Short lists of layouts, the fastest first.
#pragma once

#include <ashlar/cost/choose/ranked_layout.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::cost::layouts_detail {

inline bool is_before(ranked_layout const& a, ranked_layout const& b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.peak < b.peak;
}

inline void insert(std::vector<ranked_layout>& best, ranked_layout const& made, std::size_t most) {
  if (best.size() == most && (most == 0 || !is_before(made, best.back()))) return;
  auto at = best.end();
  while (at != best.begin() && is_before(made, at[-1])) --at;
  best.insert(at, made);
  if (best.size() > most) best.pop_back();
}

// Layouts that differ only in stages or recomputation count once. The first has the fewest chunks.
inline bool is_same(ranked_layout const& a, ranked_layout const& b) {
  question const &q = a.asked, &r = b.asked;
  return a.seconds == b.seconds && a.peak == b.peak && q.layout.micro_batch == r.layout.micro_batch
         && q.layout.tensor == r.layout.tensor && q.layout.pipeline == r.layout.pipeline
         && q.layout.context == r.layout.context && q.layout.expert == r.layout.expert
         && q.layout.expert_tensor == r.layout.expert_tensor && q.layout.sharding == r.layout.sharding
         && q.layout.pipeline_inside == r.layout.pipeline_inside && q.program.format == r.program.format
         && q.layout.offload == r.layout.offload && q.cluster == r.cluster;
}

}  // namespace ashlar::cost::layouts_detail

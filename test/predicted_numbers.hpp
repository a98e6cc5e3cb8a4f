// The parts of predictions as rows of numbers, for recorded tests.
#pragma once

#include "recorded_rows.hpp"
#include <ashlar/cost/step/answer.hpp>
#include <ashlar/cost/step/work.hpp>

namespace ashlar::cost::testing {

using recorded_rows::put;
using recorded_rows::row;
using recorded_rows::table;

inline row numbers_of(pass_terms const& p) {
  return {p.products, p.attention, p.scan,     p.bytes, p.tensor,  p.expert,  p.context,
          p.sharding, p.offload,   p.transfer, p.host,  p.weights, p.measured};
}

inline row numbers_of(stage_needs const& n) {
  row made;
  for (parameter_counts const& each : {n.held.all, n.held.trained, n.held.backward})
    put(made, each.dense, each.expert);
  put(made, n.summed, n.kept, n.left, n.moving, n.whole, n.logits);
  return made;
}

inline row numbers_of(layer_work const& w) {
  row made{w.scores,
           w.all_scores,
           w.head,
           w.forward_bytes,
           w.backward_bytes,
           w.quantised_forward,
           w.quantised_backward,
           w.scan,
           w.tensor_bytes,
           w.expert_bytes,
           w.gather_bytes,
           w.context_bytes,
           w.experts};
  put(made, w.tensor_count, w.parts, w.products.size());
  double number = 0, m = 0, n = 0, k = 0, count = 0, low = 0, one = 0;
  for (product const& each : w.products) {
    number += 1;
    m += number * each.m;
    n += number * each.n;
    k += number * each.k;
    count += number * each.count;
    low += each.is_low ? number : 0;
    one += each.is_one_kernel ? number : 0;
  }
  put(made, m, n, k, count, low, one);
  return made;
}

inline row numbers_of(stage const& s) {
  row made;
  put(made, s.first, s.count, s.has_embedding, s.has_head, s.predictions, s.losses, s.streams,
      s.streams_after());
  return made;
}

}  // namespace ashlar::cost::testing

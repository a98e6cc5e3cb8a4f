// Small workloads for tests of the bounds.
#pragma once

#include <ashlar/bounds/workload.hpp>

namespace shapes {

using namespace ashlar;

constexpr workload on_v(int p, int m, int limit) {
  return {.where = v_shape(devices{p}), .micro_batch_count = m, .limit = chunk_activations(limit)};
}
constexpr workload on_chain(int p, int m, int limit, stage_cost c = {}, tick transfer = 0) {
  return {.where = linear(devices{p}),
          .micro_batch_count = m,
          .cost = costs(c, transfer),
          .limit = chunk_activations(limit)};
}

}  // namespace shapes

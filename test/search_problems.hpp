// Small problems for tests of the search.
#pragma once

#include <ashlar/search/problem.hpp>

namespace shapes {

using namespace ashlar;

constexpr search_problem on_v_with(int p, int m, memory_limit limit, tick transfer = 1) {
  return {.where = v_shape(devices{p}),
          .m = micro_batches{m},
          .cost = costs(stage_cost{10, 13, 7}, transfer),
          .limit = limit};
}

}  // namespace shapes

// A building block: the passes of one micro-batch (or a small group of them), each at an offset on its
// device. Source of the idea: Qi, Wan, Amar, Lin: Pipeline Parallelism with Controllable Memory (2024),
// section 2.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace ashlar {

// A pass and its start, in ticks from the beginning of its block.
struct cell {
  pass what;
  tick offset = 0;

  friend constexpr bool operator==(cell const&, cell const&) = default;
};

// A building block; repeat() makes a schedule of it. check() says whether it is right.
struct block {
  stage_graph graph;
  placement where;
  std::vector<int> route;  // of each micro-batch of the block; its size is the group of micro-batches
  costs cost;
  tick interval = 1;  // ticks between consecutive repetitions
  std::vector<cell> cells;
  execution_mode mode = execution_mode::training;

  constexpr int micro_batch_count() const { return static_cast<int>(route.size()); }
  // The device of a pass of the block, by the route of its micro-batch. The stage and micro-batch exist.
  constexpr int device_of(pass what) const {
    return where.device_of(nth(route, what.micro_batch), what.stage);
  }

  // Ticks that the pass takes on its device.
  constexpr tick length_of(pass what) const { return cost.of(what, device_of(what)); }

  friend constexpr bool operator==(block const&, block const&) = default;
};

// The block of one micro-batch over a chain of stages: every stage runs each of `kinds`, pass (kind,
// stage) at offset_of(kind, stage).
template <class OffsetOf>
constexpr block make_block(placement where, costs cost, tick interval,
                           std::initializer_list<pass_kind> kinds, OffsetOf offset_of) {
  block b{.graph = chain(stages{where.stage_count()}),
          .where = std::move(where),
          .route = {0},
          .cost = std::move(cost),
          .interval = interval,
          .cells = {}};
  for (int stage = 0; stage < b.where.stage_count(); ++stage)
    for (pass_kind kind : kinds) b.cells.push_back({{kind, stage, 0}, offset_of(kind, stage)});
  return b;
}

}  // namespace ashlar

// A building block: the passes of one micro-batch (or a small group of them), each at an offset on its
// device. Source of the idea: Qi, Wan, Amar, Lin: Pipeline Parallelism with Controllable Memory (2024),
// section 2.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/dependencies.hpp>
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

// Ticks from the start of a stage's forward to the end of the pass that frees its activations.
// Throws violation{rule::every_pass_is_present} when the block lacks one of the two. Linear in the
// cells.
constexpr tick lifespan(block const& b, stage_id stage, micro_batch_id micro_batch = micro_batch_id{0}) {
  tick begin = 0, end = 0;
  bool begins = false, ends = false;
  for (cell const& c : b.cells) {
    if (c.what.stage != stage.value || c.what.micro_batch != micro_batch.value) continue;
    if (c.what.kind == pass_kind::forward) {
      begin = c.offset;
      begins = true;
      if (b.mode == execution_mode::training) continue;
      end = c.offset + b.length_of(c.what);  // nothing is kept
      ends = true;
    } else if (gives_weight_gradient(c.what.kind)) {
      end = c.offset + b.length_of(c.what);
      ends = true;
    }
  }
  if (!begins || !ends)
    refuse({.broken = rule::every_pass_is_present,
            .first = {.what = {pass_kind::forward, stage.value, micro_batch.value}}});
  return end - begin;
}

// How many repetitions hold an activation with this lifespan at most. One that is freed at the moment at
// which it is made counts as well.
constexpr tick most_held(tick lifespan, tick interval) {
  return lifespan == 0 ? 1 : (lifespan + interval - 1) / interval;
}

// The most chunk activations that a device can hold once the block is repeated: the sum over its stages
// of lifespan / interval, rounded up (Controllable Memory, section 2.2).
constexpr int activation_bound(block const& b, device_id device) {
  tick bound = 0;
  for (cell const& c : b.cells)
    if (c.what.kind == pass_kind::forward && b.device_of(c.what) == device.value) {
      tick const life = lifespan(b, stage_id{c.what.stage}, micro_batch_id{c.what.micro_batch});
      bound += most_held(life, b.interval);
    }
  return static_cast<int>(bound);
}

// The most chunk activations that a device holds at once when the block is repeated for ever: the
// largest number of live intervals over the phases of its forwards, because only a forward adds one.
// Activations that live for a moment alone all count at that moment. Never above activation_bound(), and
// below it if the stages do not all reach their most in the same phase. Quadratic in the device's
// stages. Throws as lifespan() does.
constexpr int repeated_peak(block const& b, device_id device) {
  struct life {
    tick begin, end;
  };
  dynamic_array<life> lives;
  for (cell const& c : b.cells)
    if (c.what.kind == pass_kind::forward && b.device_of(c.what) == device.value)
      lives.push_back(
          {c.offset,
           c.offset + lifespan(b, stage_id{c.what.stage}, micro_batch_id{c.what.micro_batch})});
  tick most = 0;
  for (life const& phase : lives) {
    tick held = 0;
    for (life const& l : lives)
      held += l.begin == l.end ? (floor_remainder(phase.begin - l.begin, b.interval) == 0 ? 1 : 0)
                               : floor_quotient(phase.begin - l.begin, b.interval)
                                     - floor_quotient(phase.begin - l.end, b.interval);
    most = held > most ? held : most;
  }
  return static_cast<int>(most);
}

}  // namespace ashlar

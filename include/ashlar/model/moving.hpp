// Stages that move: their backwards are on other devices than their forwards.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/model/work_view.hpp>

namespace ashlar {

// Whether these stages can move: nothing but what a forward keeps goes from it to its backward.
constexpr bool can_move(stage_graph const& graph, work_view const& work) {
  return !graph.has_shards() && !graph.has_sizes() && graph.sequence_chunks() == 1 && work.empty();
}

// For functions that know one device of each stage: throws violation{rule::moving_stages_are_whole} if
// stages move.
constexpr void must_stay(placement const& where) {
  if (where.moves()) refuse({.broken = rule::moving_stages_are_whole});
}

}  // namespace ashlar

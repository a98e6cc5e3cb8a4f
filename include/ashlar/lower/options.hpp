// How a schedule becomes a program.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/lower/host_copies.hpp>
#include <ashlar/lower/receive_times.hpp>
#include <ashlar/lower/slot_coloring.hpp>
#include <ashlar/lower/transfer_order.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/residency.hpp>

#include <vector>

namespace ashlar {

// How lower() makes a program; by default one data-parallel rank, and all that a schedule says.
struct lower_options {
  transfer_lanes lanes = transfer_lanes::one;
  int data_ranks = 1;  // that run the pipeline side by side
  gradient_reduction reduction = gradient_reduction::eager;
  sharding_level sharding = sharding_level::none;
  // Buffers per device for gathered weights (full, weights) and for gradients (full, gradients). They
  // are mapped directly: a device's chunk c has buffer c modulo their number.
  int weight_buffers = 1;
  // How many passes ahead of the one that needs it a gather stands, if its buffer is free by then. Lanes
  // are in order, so a gather that stands early does not queue behind reductions.
  int prefetch = 1;
  // When devices have weights whole, instead of these two. The schedule must be sharded.
  residency weights = {};
  optimizer_step step = optimizer_step::none;
  // Lists of stages that use one set of parameters in common, in addition to their own.
  std::vector<std::vector<int>> shared_parameters = {};
  transfer_order transfers = transfer_order::finish_time;
  slot_reuse slots = slot_reuse::when_free;
  receive_time receives = receive_time::when_sent;
  offload_options offload = {};

  friend constexpr bool operator==(lower_options const&, lower_options const&) = default;
};

// Whether the options are in range: the first parameter that is not, or
// rule::gathered_weights_are_used for a plan of residency without sharding.
constexpr diagnosis check(lower_options const& o) {
  if (o.data_ranks < 1) return at_least(parameter::data_rank_count, o.data_ranks, 1);
  if (o.weight_buffers < 1) return at_least(parameter::weight_buffer_count, o.weight_buffers, 1);
  if (!o.weights.empty() && o.sharding == sharding_level::none)
    return {.broken = rule::gathered_weights_are_used, .first = {.code = opcode::all_gather}};
  return at_least(parameter::prefetch_distance, o.prefetch, 0);
}

}  // namespace ashlar

// Counts and ids that cannot be swapped: devices{4} is not micro_batches{4}, a stage_id is not a
// device_id.
//
// They guard the public functions, where arguments meet. Inside the aggregates (pass, instruction, ...)
// an id is a plain int with a name, because tables are indexed by it and every conversion would cost
// steps of constant evaluation.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

// A strong int: explicit to make, explicit to read.
template <class Tag>
struct strong_int {
  int value = 0;

  constexpr strong_int() = default;
  explicit constexpr strong_int(int v) : value(v) {}

  friend constexpr bool operator==(strong_int, strong_int) = default;
};

// Counts.
using devices = strong_int<struct devices_tag>;              // pipeline ranks, p
using micro_batches = strong_int<struct micro_batches_tag>;  // units that flow through the stages, m
using chunks = strong_int<struct chunks_tag>;                // stages on one device, v
using waves = strong_int<struct waves_tag>;                  // times a route goes down and up again
using stages = strong_int<struct stages_tag>;                // pieces of the model

// Larger counts do not fit into memory and are refused.
inline constexpr int most_stages = 1 << 24, most_passes = 1 << 28;

// Ids, each from 0 to its count - 1.
using device_id = strong_int<struct device_id_tag>;
using stage_id = strong_int<struct stage_id_tag>;
using micro_batch_id = strong_int<struct micro_batch_id_tag>;
using route_id = strong_int<struct route_id_tag>;

}  // namespace ashlar

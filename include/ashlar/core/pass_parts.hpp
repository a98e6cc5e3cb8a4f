// The parts of a pass: some compute and some exchange.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The resource that a part of a pass needs for itself: the device's arithmetic, or its exchange with the
// devices that share the stage (experts' all-to-all, tensor parallelism's all-reduce).
enum class part_resource : unsigned char { compute, exchange };

// A part of a pass and its ticks at full speed. Parts of a pass run one after another.
struct pass_part {
  part_resource on = part_resource::compute;
  tick duration = 1;
  bool of_weights = false;  // in a backward: of its weight pass, else of its input pass

  friend constexpr bool operator==(pass_part const&, pass_part const&) = default;
};

// The parts of the passes of a stage, in the order in which they run alone. Those of the backward are of
// the fused one; the two passes of a split one have those of their own.
struct stage_parts {
  std::vector<pass_part> forward = {};
  std::vector<pass_part> backward = {};

  friend constexpr bool operator==(stage_parts const&, stage_parts const&) = default;
};

// The parts of a forward, of a fused backward or of one of its two passes. A recompute is a forward.
constexpr std::vector<pass_part> parts_of(stage_parts const& s, pass_kind kind) {
  if (kind == pass_kind::backward) return s.backward;
  if (kind == pass_kind::forward || kind == pass_kind::recompute) return s.forward;
  std::vector<pass_part> own;
  for (pass_part const& part : s.backward)
    if (part.of_weights == (kind == pass_kind::backward_weight)) own.push_back(part);
  return own;
}

// The sum of the durations: the time of a pass that runs alone.
constexpr tick duration_of(std::vector<pass_part> const& parts) {
  tick sum = 0;
  for (pass_part const& part : parts) sum = saturating_sum(sum, part.duration);
  return sum;
}

// The times of the stage's passes when each runs alone.
constexpr stage_cost cost_of(stage_parts const& s) {
  return {.forward = duration_of(s.forward),
          .backward_input = duration_of(parts_of(s, pass_kind::backward_input)),
          .backward_weight = duration_of(parts_of(s, pass_kind::backward_weight))};
}

}  // namespace ashlar

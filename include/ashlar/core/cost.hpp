// How long passes and transfers take.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Ticks of each kind of pass of one stage. A fused backward takes the sum of its two parts; a recompute
// takes as long as a forward unless told otherwise. What work takes, its job says (model/work.hpp).
struct stage_cost {
  tick forward = 1;
  tick backward_input = 1;
  tick backward_weight = 1;
  tick recompute = same_as_forward;

  static constexpr tick same_as_forward = -1;

  constexpr tick of(pass_kind kind) const {
    switch (kind) {
      case pass_kind::forward:
        return forward;
      case pass_kind::recompute:
        return recompute == same_as_forward ? forward : recompute;
      case pass_kind::backward:
        return backward_input + backward_weight;
      case pass_kind::backward_input:
        return backward_input;
      case pass_kind::backward_weight:
        return backward_weight;
      case pass_kind::work:
        break;
    }
    return 0;
  }

  friend constexpr bool operator==(stage_cost const&, stage_cost const&) = default;
};

// Costs of a model: one entry for all stages alike, or one entry a stage; the ticks of a transfer
// between two devices (a hand-over between stages of one device is free); and those of a forward and a
// backward that run overlapped on one device.
struct costs {
  std::vector<stage_cost> per_stage = std::vector<stage_cost>(1);
  tick transfer = 0;
  tick overlapped = one_after_the_other;

  static constexpr tick one_after_the_other = -1;

  constexpr costs() = default;
  constexpr costs(stage_cost alike, tick transfer_time = 0)
      : per_stage(1, alike), transfer(transfer_time) {}
  constexpr costs(std::vector<stage_cost> each, tick transfer_time = 0)
      : per_stage(static_cast<std::vector<stage_cost>&&>(each)), transfer(transfer_time) {}

  constexpr stage_cost const& of_stage(int stage) const {
    return per_stage[per_stage.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }
  constexpr tick of(pass what) const { return of_stage(what.stage).of(what.kind); }
  constexpr tick of_pair(pass forward, pass backward) const {
    return overlapped == one_after_the_other ? of(forward) + of(backward) : overlapped;
  }

  friend constexpr bool operator==(costs const&, costs const&) = default;
};

}  // namespace ashlar

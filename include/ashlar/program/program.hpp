// A program: one stream of instructions a device, over slots.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/program/instruction.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace ashlar {

enum class transfer_lanes : unsigned char { one, one_a_peer };

// What runs: the streams of all devices one behind the other, their operands and slots. Does not own
// anything, so that a program made at run time and one frozen into static memory are the same to a
// backend.
struct program_view {
  int device_count = 0;
  int stage_count = 0;
  int micro_batch_count = 0;
  int lane_count = 0;  // of a device
  int data_ranks = 1;  // that run this program side by side, each on devices of its own
  sharding_level sharding = sharding_level::none;
  std::span<instruction const> instructions;
  std::span<int const> stream_begin;  // by device, and the end
  std::span<operand const> operands;
  std::span<slot_kind const> slots;
  std::span<int const> slot_begin;  // by device, and the end

  constexpr list_view<instruction> stream(int device) const {
    auto const d = static_cast<std::size_t>(device);
    return {instructions.data() + stream_begin[d], instructions.data() + stream_begin[d + 1]};
  }
  constexpr list_view<slot_kind> slots_of(int device) const {
    auto const d = static_cast<std::size_t>(device);
    return {slots.data() + slot_begin[d], slots.data() + slot_begin[d + 1]};
  }
  constexpr list_view<operand> operands_of(instruction const& i) const {
    operand const* const first = operands.data() + i.first_operand;
    return {first, first + i.operand_count};
  }
};

// A program as a value, with what its proofs need to know: the stages, where they live, who takes which
// route.
struct program {
  stage_graph graph;
  placement where;
  std::vector<int> route;  // of each micro-batch
  transfer_lanes lanes = transfer_lanes::one;
  execution_mode mode = execution_mode::training;
  int data_ranks = 1;  // that run this program side by side, each on devices of its own
  sharding_level sharding = sharding_level::none;
  optimizer_step step = optimizer_step::none;
  std::vector<instruction> instructions;
  std::vector<int> stream_begin = {0};
  std::vector<operand> operands;
  std::vector<slot_kind> slots;
  std::vector<int> slot_begin = {0};

  constexpr int device_count() const { return where.device_count(); }
  constexpr int stage_count() const { return where.stage_count(); }
  constexpr int micro_batch_count() const { return static_cast<int>(route.size()); }
  constexpr int transfer_lane(int peer) const {
    return lanes == transfer_lanes::one ? first_transfer_lane : first_transfer_lane + peer;
  }
  constexpr int collective_lane() const { return transfer_lane(device_count() - 1) + 1; }
  // Where the gradient of a stage that has so many replicas is reduced: nobody to meet, no collective.
  constexpr int reduction_lane(std::size_t replica_count) const {
    return replica_count > 1 || data_ranks > 1 ? collective_lane() : compute_lane;
  }

  // Valid while the program is.
  constexpr program_view view() const {
    return {.device_count = device_count(),
            .stage_count = stage_count(),
            .micro_batch_count = micro_batch_count(),
            .lane_count = collective_lane() + 1,
            .data_ranks = data_ranks,
            .sharding = sharding,
            .instructions = instructions,
            .stream_begin = stream_begin,
            .operands = operands,
            .slots = slots,
            .slot_begin = slot_begin};
  }

  friend constexpr bool operator==(program const&, program const&) = default;
};

// Where an instruction stands, for a diagnosis.
constexpr site site_of(instruction const& i, int device, int index) {
  return {.device = device, .index = index, .code = i.code, .what = i.what};
}

// Slots of a kind on a device.
constexpr int count_slots(program_view const& p, int device, slot_kind kind) {
  int count = 0;
  for (slot_kind k : p.slots_of(device)) count += k == kind;
  return count;
}

}  // namespace ashlar

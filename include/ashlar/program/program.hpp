// A program: one stream of instructions per device, over slots.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/program/instruction.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The transfer lanes of a device: one for all transfers; one per peer; two per peer, for sends and
// receives; or one for activations and one for gradients.
enum class transfer_lanes : unsigned char { one, one_a_peer, one_a_direction, one_a_kind };

// The number of these lanes.
constexpr int transfer_lane_count(transfer_lanes lanes, int device_count) {
  switch (lanes) {
    case transfer_lanes::one:
      return 1;
    case transfer_lanes::one_a_peer:
      return device_count;
    case transfer_lanes::one_a_direction:
      return 2 * device_count;
    case transfer_lanes::one_a_kind:
      break;
  }
  return 2;
}

// The lane for half a transfer, from 0, of a value made by a pass of that kind. (One expression, as
// result_of().)
constexpr int transfer_lane_of(transfer_lanes lanes, int peer, opcode half, pass_kind made) {
  return lanes == transfer_lanes::one               ? 0
         : lanes == transfer_lanes::one_a_peer      ? peer
         : lanes == transfer_lanes::one_a_direction ? 2 * peer + (half == opcode::receive ? 1 : 0)
         : made == pass_kind::forward               ? 0
                                                    : 1;
}

// Whether scatters have a lane beside that of gathers. With one data-parallel rank both are copies, to
// and from shards, and nobody has to be met in one order; links to a host have two directions.
constexpr bool has_scatter_lane(sharding_level sharding, int data_ranks) {
  return sharding != sharding_level::none && data_ranks == 1;
}

// The streams of all devices one after the other, with their operands and slots, and what these follow
// from. It owns nothing, so a backend sees no difference between a program made at run time and one
// frozen into static memory.
struct program_view {
  int device_count = 0;
  int stage_count = 0;
  int micro_batch_count = 0;
  int lane_count = 0;  // of a device
  int data_ranks = 1;  // that run this program side by side, each on devices of its own
  sharding_level sharding = sharding_level::none;
  optimizer_step step = optimizer_step::none;
  bool offloads = false;  // whether the last two lanes are those of copies
  bool moves = false;     // whether backwards have devices of their own
  graph_view graph;
  list_view<int> where;  // devices by route, then stage; then those of backwards, if stages move
  list_view<int> route;  // of each micro-batch
  group_view groups;
  list_view<instruction> instructions;
  list_view<int> stream_begin;  // by device, and the end
  list_view<operand> operands;
  list_view<slot_kind> slots;
  list_view<int> slot_begin;  // by device, and the end
  work_view work = {};

  // The device of a stage's forward, by the route of the micro-batch.
  constexpr int device_of(int micro_batch, int stage) const {
    int const taken = nth(route, micro_batch);
    return nth(where, taken * stage_count + stage);
  }
  // The device of its recomputes and backwards.
  constexpr int backward_device_of(int micro_batch, int stage) const {
    int const at = nth(route, micro_batch) * stage_count + stage;
    return nth(where, moves ? at + static_cast<int>(where.size() / 2) : at);
  }
  // Whether what the forward keeps is sent to the device of the backward.
  constexpr bool moves_kept(int micro_batch, int stage) const {
    return moves && device_of(micro_batch, stage) != backward_device_of(micro_batch, stage);
  }
  // The final place of a group's gradient. Parameters that several stages share are kept whole.
  constexpr slot_kind gradient_kind(int group) const {
    return sharding != sharding_level::none && group < stage_count ? slot_kind::gradient_shard
                                                                   : slot_kind::weight_gradient;
  }
  // Whether a collective on such values also goes over the data-parallel ranks. Each rank has all of an
  // unsharded gradient, and so all of its norm, but only its own part of a sharded one.
  constexpr bool spans_ranks(instruction const& i) const {
    if (data_ranks == 1) return false;
    if (i.code != opcode::all_reduce) return true;
    if (sums_work(i)) return work.spans_ranks(part_of(i.what).job);
    return i.subject == slot_kind::scalar ? sharding != sharding_level::none
                                          : i.subject != slot_kind::gradient_shard;
  }

  // Parts of the tables: a device's instructions and slots, an instruction's operands. Refer to the
  // program.
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

// Calls visit(table) for each list of a view (a program_view, const or not), in an order that all share.
// Code about all tables of a program goes through here: its hash, its frozen form.
template <class View, class Visit>
constexpr void for_each_table(View& p, Visit visit) {
  visit(p.graph.before);
  visit(p.graph.after);
  visit(p.graph.sizes);
  visit(p.graph.shards);
  visit(p.where);
  visit(p.route);
  visit(p.groups.all_holders.begin);
  visit(p.groups.all_holders.all);
  visit(p.groups.all_stages.begin);
  visit(p.groups.all_stages.all);
  visit(p.instructions);
  visit(p.stream_begin);
  visit(p.operands);
  visit(p.slots);
  visit(p.slot_begin);
  visit(p.work.jobs);
  visit(p.work.parts);
  visit(p.work.into);
  visit(p.work.out_of);
}

// A program as a value. It includes the facts that its proofs need: the stages, where they live, and
// which micro-batch takes which route.
struct program {
  stage_graph graph;
  placement where;
  std::vector<int> route;  // of each micro-batch
  transfer_lanes lanes = transfer_lanes::one;
  execution_mode mode = execution_mode::training;
  int data_ranks = 1;  // that run this program side by side, each on devices of its own
  sharding_level sharding = sharding_level::none;
  parameter_groups groups;
  optimizer_step step = optimizer_step::none;
  bool offloads = false;  // whether devices have lanes for copies to and from their hosts
  std::vector<instruction> instructions = {};
  std::vector<int> stream_begin = {0};
  std::vector<operand> operands = {};
  std::vector<slot_kind> slots = {};
  std::vector<int> slot_begin = {0};
  work_graph work = {};

  constexpr int device_count() const { return where.device_count(); }
  constexpr int stage_count() const { return where.stage_count(); }
  constexpr int micro_batch_count() const { return static_cast<int>(route.size()); }
  // The lanes of a device: of transfers with a peer, by `lanes`, after all of these that of collectives,
  // and then those of copies to the host and back, if the program offloads.
  constexpr int transfer_lane(int peer, opcode half, pass_kind made) const {
    return first_transfer_lane + transfer_lane_of(lanes, peer, half, made);
  }
  constexpr int collective_lane() const {
    return first_transfer_lane + transfer_lane_count(lanes, device_count());
  }
  constexpr int scatter_lane() const {
    return collective_lane() + (has_scatter_lane(sharding, data_ranks) ? 1 : 0);
  }
  constexpr int offload_lane() const { return scatter_lane() + 1; }
  constexpr int reload_lane() const { return scatter_lane() + 2; }
  constexpr int lane_count() const { return offloads ? reload_lane() + 1 : scatter_lane() + 1; }
  // The lane that an instruction belongs on, which follows from its other fields; its group must exist.
  // An all-reduce with one member needs no collective, and computes. A sum over ranks, or of gradients
  // in shards, is waited for on the lane of collectives or scatters, so that passes go on.
  constexpr int lane_of(instruction const& i) const {
    if (i.code == opcode::compute) return compute_lane;
    if (i.code == opcode::send || i.code == opcode::receive)
      return first_transfer_lane + transfer_lane_of(lanes, i.peer, i.code, i.what.kind);
    if (copies_to_or_from_host(i)) return i.code == opcode::offload ? offload_lane() : reload_lane();
    if (i.code == opcode::reduce_scatter) return scatter_lane();
    bool computes = i.code == opcode::measure || i.code == opcode::optimize;
    if (i.code == opcode::clear) {
      if (i.subject == slot_kind::gradient_shard) return scatter_lane();
      computes = true;
    }
    if (i.code == opcode::all_reduce && !sums_work(i)) {
      computes = groups.holders(i.group).size() == 1 && data_ranks == 1;
      if (computes && i.subject == slot_kind::gradient_shard) return scatter_lane();
    }
    return computes ? compute_lane : collective_lane();
  }

  // Valid while the program is.
  constexpr program_view view() const {
    return {.device_count = device_count(),
            .stage_count = stage_count(),
            .micro_batch_count = micro_batch_count(),
            .lane_count = lane_count(),
            .data_ranks = data_ranks,
            .sharding = sharding,
            .step = step,
            .offloads = offloads,
            .moves = where.moves(),
            .graph = graph.view(),
            .where = where.table(),
            .route = view_of(route),
            .groups = groups.view(),
            .instructions = view_of(instructions),
            .stream_begin = view_of(stream_begin),
            .operands = view_of(operands),
            .slots = view_of(slots),
            .slot_begin = view_of(slot_begin),
            .work = work.view()};
  }

  friend constexpr bool operator==(program const&, program const&) = default;
};

// The instructions of a device's stream: from the first to before the last, by index. For a program or
// its view.
template <class Program, class Number>
constexpr int stream_begin(Program const& p, Number device) {
  return nth(p.stream_begin, device);
}
template <class Program, class Number>
constexpr int stream_end(Program const& p, Number device) {
  return nth(p.stream_begin, device + 1);
}
// The device that has an instruction. O(log devices).
template <class Program>
constexpr int device_of_instruction(Program const& p, int index) {
  int low = 0, high = static_cast<int>(p.stream_begin.size()) - 1;
  while (high - low > 1) {
    int const middle = low + (high - low) / 2;
    (stream_begin(p, middle) <= index ? low : high) = middle;
  }
  return low;
}

// All-reduces are numbered: first those of the parameter groups, then that of everyone, then those of
// the jobs. For a program or its view.
template <class Program>
constexpr int all_reduce_count(Program const& p) {
  return p.groups.count() + 1 + p.work.job_count();
}
template <class Program>
constexpr int group_of_job(Program const& p, int job) {
  return p.groups.count() + 1 + job;
}
// How many devices take part in one that exists.
template <class Program>
constexpr std::size_t member_count(Program const& p, int group) {
  int const job = group - group_of_job(p, 0);
  return job < 0 ? p.groups.holders(group).size() : static_cast<std::size_t>(p.work.part_count(job));
}

// The place of an instruction, for a diagnosis.
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

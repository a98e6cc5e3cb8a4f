// How long an instruction takes, without its waits.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/simulate/options.hpp>

#include <cstddef>

namespace ashlar {

// How long a transfer takes, and how long it holds its lanes.
struct transfer_time {
  tick all;
  tick held;
};

// The bytes of a send or receive: those of the value that a stage gives to each next one, of its
// gradient, or of what a forward keeps for a backward elsewhere. Requires a message of a program that
// can be timed, as the times below do of instructions: check_can_be_timed().
constexpr byte_count message_size(simulation_options const& o, instruction const& i,
                                  stage_graph const& graph) {
  bool const forward = i.what.kind == pass_kind::forward;
  bool const kept = forward && i.to == i.what.stage;
  return o.size_of({.kind = kept      ? slot_kind::checkpoint
                            : forward ? slot_kind::activation
                                      : slot_kind::gradient,
                    .of = i.what.stage,
                    .micro_batch = i.what.micro_batch,
                    .to = i.to},
                   graph);
}

// The time of a send on this device.
constexpr transfer_time time_of_transfer(simulation_options const& o, instruction const& i, int device,
                                         stage_graph const& graph) {
  link_speed const& link = o.cost.on.links.link(device, i.peer);
  tick const moving = link.byte_time(message_size(o, i, graph));
  tick const all = saturating_sum(link.latency, moving);
  return {all, o.latency_holds_lane ? all : moving};
}

// The time of an offload or a reload on this device: the bytes in its slots go over the link to the
// host.
constexpr tick time_of_copy(simulation_options const& o, program_view const& p, instruction const& i,
                            int device) {
  list_view<operand> const operands = p.operands_of(i);
  if (operands.empty()) return o.cost.on.host.time_of(0);
  slot_kind const kind = nth(p.slots_of(device), operands[0].slot);
  return o.cost.on.host.time_of(
      o.size_of({.kind = kind, .of = i.what.stage, .micro_batch = i.what.micro_batch}, p.stage_count));
}

// Times of collectives between data-parallel ranks, and between the holders of a group.
class shared_durations {
 public:
  // Refers to both.
  constexpr shared_durations(program const& p, simulation_options const& o)
      : p_(p), o_(o), ranks_(p.data_ranks > 1 ? p.data_ranks : o.data_ranks) {}

  // The time of all instructions except computes, transfers and copies. Collective work takes as long as
  // its job says.
  constexpr tick of(instruction const& i) const {
    if (sums_work(i)) return p_.work.view().duration(part_of(i.what));
    bool const is_sharded = p_.sharding != sharding_level::none;
    stage_memory const& b = o_.memory.of_group(i.group, p_.stage_count());
    switch (i.code) {
      case opcode::all_gather:  // the ranks run in step: each device meets only itself on the others
        return shared(b.weights);
      case opcode::reduce_scatter:
        return shared(b.weight_gradient);
      case opcode::optimize:
        return share_of(o_.optimizer, is_sharded && i.group < p_.stage_count() ? ranks_ : 1);
      case opcode::all_reduce: {
        auto const members = static_cast<tick>(p_.groups.holders(i.group).size());
        if (i.subject == slot_kind::scalar)  // too short for its bytes to count
          return ring_time(o_.cost.on.collective, 0, is_sharded ? members * ranks_ : members);
        if (i.subject == slot_kind::gradient_shard)
          return ring_time(o_.cost.on.collective, share_of(b.weight_gradient, ranks_), members);
        return ring_time(o_.cost.on.collective, b.weight_gradient, members * ranks_);
      }
      case opcode::compute:
      case opcode::send:
      case opcode::receive:
      case opcode::release:
      case opcode::clear:
      case opcode::measure:
      case opcode::offload:  // see time_of_copy
      case opcode::reload:
        break;
    }
    return 0;
  }

 private:
  // The time of a gather from shards, or a scatter to them.
  constexpr tick shared(byte_count size) const {
    tick const ring = half_ring_time(o_.cost.on.collective, size, ranks_);
    if (o_.shards == shard_home::device) return ring;
    return saturating_sum(ring, o_.cost.on.host.time_of(share_of(size, ranks_)));
  }

  program const& p_;
  simulation_options const& o_;
  int ranks_;
};

}  // namespace ashlar

// How long an instruction takes, whatever it waits for.
#pragma once

#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/simulate/options.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// How long a transfer takes, and how long it holds its lanes.
struct transfer_time {
  tick all = 0;
  tick held = 0;
};

constexpr transfer_time time_of_transfer(simulation_options const& o, instruction const& i, int device) {
  link_speed const& link = o.link(device, i.peer);
  stage_bytes const& bytes = o.bytes_of(i.what.stage);
  tick const moving =
      byte_time(link, i.what.kind == pass_kind::forward ? bytes.activation : bytes.gradient);
  tick const all = saturating_sum(link.latency, moving);
  return {all, o.latency_holds_lane ? all : moving};
}

// What the data-parallel ranks, and the replicas of a stage, do together.
class shared_durations {
 public:
  constexpr shared_durations(program const& p, simulation_options const& o)
      : o_(o),
        sharded_(p.sharding != sharding_level::none),
        ranks_(p.data_ranks > 1 ? p.data_ranks : o.data_ranks),
        devices_(p.device_count()) {
    for (int s = 0; s < p.stage_count(); ++s)
      replicas_.push_back(static_cast<int>(replicas(p.where, s).size()));
  }

  constexpr int replicas_of(int stage) const { return replicas_[static_cast<std::size_t>(stage)]; }

  // Of all instructions but computes and transfers.
  constexpr tick of(instruction const& i) const {
    stage_bytes const& b = o_.bytes_of(i.what.stage);
    switch (i.code) {
      case opcode::all_gather:  // the ranks run in step: each device meets only itself on the others
        return half_ring_time(o_.collective, b.weights, ranks_);
      case opcode::reduce_scatter:
        return half_ring_time(o_.collective, b.weight_gradient, ranks_);
      case opcode::optimize:
        return share_of(o_.optimizer, sharded_ ? ranks_ : 1);
      case opcode::statistics:
        return ring_time(o_.collective, 0, tick{devices_} * ranks_);
      case opcode::all_reduce: {
        int const members = replicas_of(i.what.stage);
        return sharded_ ? ring_time(o_.collective, share_of(b.weight_gradient, ranks_), members)
                        : ring_time(o_.collective, b.weight_gradient, tick{members} * ranks_);
      }
      case opcode::compute:
      case opcode::send:
      case opcode::receive:
      case opcode::release:
        break;
    }
    return 0;
  }

 private:
  simulation_options const& o_;
  bool sharded_;
  int ranks_;
  int devices_;
  std::vector<int> replicas_;  // by stage
};

}  // namespace ashlar

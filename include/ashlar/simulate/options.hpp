// The options of a simulation: how long passes take, how fast the links are, how large the values are.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/program/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The share of one of this many parts, rounded up.
constexpr byte_count share_of(byte_count size, int parts) { return size / parts + (size % parts != 0); }

// When the halves of a transfer start.
enum class transfer_mode : unsigned char {
  rendezvous,  // both halves start together, when both are up
  buffered,    // a send starts when it is up; its receive is over once the message is there
};

// The waits of a transfer on its device.
enum class issue_mode : unsigned char {
  by_slots,   // a transfer waits as its slots say, as the engine does
  in_stream,  // and also for every compute that stands before it in its device's stream
};

// Where ranks keep their shards of weights and gradients, and the state of their optimizer.
enum class shard_home : unsigned char {
  device,
  host,  // a gather begins with a copy to the device, a scatter ends with one from it
};

// The assumptions of a simulation. Times are ticks, sizes the unit of the memory model.
struct simulation_options {
  execution_costs cost = {};
  memory_model memory = {};                // also the sizes of messages
  std::vector<job_bytes> work_bytes = {};  // one for each job, or none of any size
  int data_ranks = 1;  // r, the pipelines side by side that reduce their gradients together; of a
                       // program that knows its own, those count
  tick optimizer = 0;  // ticks of a stage's optimizer step, whole; a shard takes its share
  transfer_mode mode = transfer_mode::rendezvous;
  bool latency_holds_lane = true;  // false: the next transfer of the lane may start when the bytes have
                                   // left, while they are still on their way
  issue_mode issue = issue_mode::by_slots;
  shard_home shards = shard_home::device;  // of a sharded program

  // The size of a value that an instruction reads or writes. A gradient has the size of the stage that
  // it is for, and a scattered one counts as whole. 0 for stages and jobs that do not exist.
  constexpr byte_count size_of(value_key const& v, int stage_count) const {
    switch (v.kind) {
      case slot_kind::scalar:
        return sizeof(double);
      case slot_kind::work:
      case slot_kind::work_state: {
        if (v.of >= static_cast<int>(work_bytes.size())) return 0;
        job_bytes const& b = nth(work_bytes, v.of);
        return v.kind == slot_kind::work_state ? b.state : b.output;
      }
      case slot_kind::weight:
        return memory.of_group(v.of, stage_count).weights;
      case slot_kind::weight_gradient:
      case slot_kind::gradient_shard:
      case slot_kind::micro_gradient:
        return memory.of_group(v.of, stage_count).weight_gradient;
      default:
        break;
    }
    int const stage = v.kind == slot_kind::gradient ? v.to : v.of;
    if (stage < 0 || stage >= stage_count) return 0;
    stage_memory const& m = memory.of(stage, v.micro_batch);
    switch (v.kind) {
      case slot_kind::activation:
        return m.activation;
      case slot_kind::gradient:
        return m.gradient;
      case slot_kind::checkpoint:
      case slot_kind::host_checkpoint:
        return m.kept_by_forward();
      case slot_kind::stash:
      case slot_kind::host_stash:
        return m.stash;
      case slot_kind::sequence_state:
        return m.sequence_state;
      case slot_kind::sequence_gradient:
        return m.sequence_gradient;
      default:
        return m.weight_stash;
    }
  }
  // The size for stages with micro-batches of different sizes. The tables hold the sizes for a stage's
  // own micro-batch; a gradient has as many units as the pass that makes it.
  constexpr byte_count size_of(value_key const& v, stage_graph const& graph) const {
    byte_count const size = size_of(v, graph.count());
    if (v.kind != slot_kind::gradient || !graph.has_sizes() || size == 0) return size;
    int const own = graph.size_of(v.of), units = graph.size_of(v.to);
    return own >= units ? saturating_product(size, own / units) : share_of(size, units / own);
  }
};

// The costs of a schedule for the same machine. It knows one size of messages: the largest, so that
// slots are free by the time that a message may begin.
constexpr costs schedule_costs(simulation_options const& o) {
  byte_count message = 0;
  for (stage_memory const& held : o.memory.stages)
    message = max_of(message, max_of(held.activation, held.gradient));
  return {o.cost.passes, o.cost.on, message};
}

// The time of an all-gather or reduce-scatter of `size` bytes over `ranks` ranks in a ring: ranks - 1
// steps, each with a latency and size / ranks bytes.
constexpr tick half_ring_time(link_speed const& l, byte_count size, tick ranks) {
  if (ranks < 2) return 0;
  tick const latency = saturating_product(ranks - 1, l.latency);
  if (l.bandwidth == 0) return latency;
  return saturating_sum(latency, proportional(saturating_product(ranks - 1, size), l.period,
                                              saturating_product(ranks, l.bandwidth)));
}

// The time of an all-reduce of `size` bytes on each of `ranks` ranks in a ring: ranks - 1 steps to sum
// and as many to spread, each with a latency and size / ranks bytes: 2 (n - 1) latency + 2 (n - 1) / n
// size / bandwidth, rounded up once. (Thakur, Rabenseifner, Gropp, 2005.)
constexpr tick ring_time(link_speed const& l, byte_count size, tick ranks) {
  if (ranks < 2) return 0;
  tick const steps = 2 * (ranks - 1);
  tick const latency = saturating_product(steps, l.latency);
  if (l.bandwidth == 0) return latency;
  return saturating_sum(latency, proportional(saturating_product(steps, size), l.period,
                                              saturating_product(ranks, l.bandwidth)));
}

// Checks that tables fit the numbers of stages, devices and chunks of sequences, and that nothing is
// negative or too large to be counted.
constexpr diagnosis check(simulation_options const& o, int stage_count, int device_count,
                          int micro_batch_count, int sequence_chunks) {
  if (diagnosis const d = check(o.cost, stage_count, device_count, micro_batch_count, sequence_chunks);
      !d.ok())
    return d;
  if (diagnosis const d = check(o.memory, stage_count, micro_batch_count); !d.ok()) return d;
  if (o.data_ranks < 1) return {.broken = rule::counts_are_positive, .number = o.data_ranks};
  if (o.optimizer < 0 || o.optimizer >= max_tick)
    return {.broken = rule::no_duration_is_negative, .number = o.optimizer};
  return check_work_bytes(o.work_bytes);
}

}  // namespace ashlar

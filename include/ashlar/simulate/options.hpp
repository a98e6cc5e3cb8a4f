// What a simulation is told: how long passes take, how fast the links are, how large the values are.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/program/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

using byte_count = std::int64_t;

// A link: each message takes `latency` ticks and one more for every `bandwidth` bytes begun. Bandwidth
// is in bytes a tick; 0: the bytes take no time.
struct link_speed {
  tick latency = 0;
  byte_count bandwidth = 0;

  friend constexpr bool operator==(link_speed const&, link_speed const&) = default;
};

// Sizes of one stage: what lies on each of its replicas all the time, and the values that come and go.
struct stage_bytes {
  byte_count weights = 0;
  byte_count optimizer_state = 0;
  byte_count weight_gradient = 0;
  byte_count activation = 0;  // the stage's output
  byte_count gradient = 0;    // of the stage's input
  byte_count checkpoint = 0;
  byte_count stash = 0;
  byte_count weight_stash = 0;

  constexpr byte_count of(slot_kind kind) const {
    switch (kind) {
      case slot_kind::activation:
        return activation;
      case slot_kind::gradient:
        return gradient;
      case slot_kind::checkpoint:
        return checkpoint;
      case slot_kind::stash:
        return stash;
      case slot_kind::weight_stash:
        return weight_stash;
      case slot_kind::weight:
        return weights;
      case slot_kind::scalar:
        return sizeof(double);
      case slot_kind::work:
      case slot_kind::work_state:
        return 0;  // of a job
      case slot_kind::gradient_shard:
      case slot_kind::weight_gradient:
        break;
    }
    return weight_gradient;
  }

  friend constexpr bool operator==(stage_bytes const&, stage_bytes const&) = default;
};

// Sizes of a job: what each of its parts hands on, and what it keeps on each of its devices.
struct job_bytes {
  byte_count output = 0;
  byte_count state = 0;

  friend constexpr bool operator==(job_bytes const&, job_bytes const&) = default;
};

enum class transfer_mode : unsigned char {
  rendezvous,  // both halves start together, when both are up
  buffered,    // a send starts when it is up; its receive is over once the message is there
};

enum class issue_mode : unsigned char {
  by_slots,   // a transfer waits for what its slots say, as the engine does
  in_stream,  // and also for every compute that stands before it in its device's stream
};

struct simulation_options {
  static constexpr stage_bytes nothing = {};

  costs cost;  // of passes; its `transfer` does not count
  std::vector<stage_bytes> bytes = std::vector<stage_bytes>(1);  // one for all stages, or one each
  std::vector<stage_bytes> shared_bytes =
      {};                                  // of parameters that several stages use: one for each group
  std::vector<job_bytes> work_bytes = {};  // one for each job, or none of any size
  link_speed inside = {};                  // between devices of one node
  link_speed between = {};                 // between devices of different nodes
  int node_size = 0;           // devices of a node, by number; 0: all devices are in one node
  link_speed collective = {};  // the slowest link of a ring that reduces gradients
  int data_ranks = 1;  // r, the pipelines side by side that reduce their gradients together; of a
                       // program that knows its own, those count
  tick optimizer = 0;  // ticks of a stage's optimizer step, whole; a shard takes its share
  transfer_mode mode = transfer_mode::rendezvous;
  bool latency_holds_lane = true;  // false: the next transfer of the lane may start when the bytes have
                                   // left, while they are still on their way
  issue_mode issue = issue_mode::by_slots;

  constexpr stage_bytes const& bytes_of(int stage) const {
    return bytes[bytes.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }
  // What a parameter group keeps and sums up: what a stage has for itself, or a shared group.
  constexpr stage_bytes const& bytes_of_group(int group, int stage_count) const {
    int const shared = group - stage_count;
    if (shared < 0) return bytes_of(group);
    return shared < static_cast<int>(shared_bytes.size())
               ? shared_bytes[static_cast<std::size_t>(shared)]
               : nothing;
  }
  constexpr byte_count bytes_of_job(int job, slot_kind kind) const {
    if (job >= static_cast<int>(work_bytes.size())) return 0;
    job_bytes const& b = work_bytes[static_cast<std::size_t>(job)];
    return kind == slot_kind::work_state ? b.state : kind == slot_kind::work ? b.output : 0;
  }
  constexpr link_speed const& link(int a, int b) const {
    return node_size == 0 || a / node_size == b / node_size ? inside : between;
  }
};

// Ticks in which `size` bytes pass a link of that bandwidth, the latency apart.
constexpr tick byte_time(link_speed const& l, byte_count size) {
  return l.bandwidth == 0 ? 0 : size / l.bandwidth + (size % l.bandwidth != 0);
}

// All-gather or reduce-scatter of `size` bytes over `ranks` ranks in a ring: ranks - 1 steps, each with
// a latency and size / ranks bytes.
constexpr tick half_ring_time(link_speed const& l, byte_count size, tick ranks) {
  if (ranks < 2) return 0;
  tick const latency = saturating_product(ranks - 1, l.latency);
  if (l.bandwidth == 0) return latency;
  tick const moved = saturating_product(ranks - 1, size);
  tick const speed = saturating_product(ranks, l.bandwidth);
  return saturating_sum(latency, moved / speed + (moved % speed != 0));
}

// The share of one of `ranks`, rounded up.
constexpr byte_count share_of(byte_count size, int ranks) { return size / ranks + (size % ranks != 0); }

// All-reduce of `size` bytes on each of `ranks` ranks in a ring: ranks - 1 steps to sum and as many to
// spread, each with a latency and size / ranks bytes: 2 (n - 1) latency + 2 (n - 1) / n size /
// bandwidth, rounded up once. (Thakur, Rabenseifner, Gropp, 2005.)
constexpr tick ring_time(link_speed const& l, byte_count size, tick ranks) {
  if (ranks < 2) return 0;
  tick const steps = 2 * (ranks - 1);
  tick const latency = saturating_product(steps, l.latency);
  if (l.bandwidth == 0) return latency;
  tick const moved = saturating_product(steps, size);
  tick const speed = saturating_product(ranks, l.bandwidth);
  return saturating_sum(latency, moved / speed + (moved % speed != 0));
}

// Tables fit so many stages and nothing is negative or too large to be counted.
constexpr diagnosis check(simulation_options const& o, int stage_count, int micro_batch_count) {
  if (diagnosis const d = check(o.cost, stage_count, micro_batch_count); !d.ok()) return d;
  if (o.bytes.size() != 1 && static_cast<int>(o.bytes.size()) != stage_count)
    return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(o.bytes.size())};
  if (o.data_ranks < 1) return {.broken = rule::counts_are_positive, .number = o.data_ranks};
  if (o.optimizer < 0 || o.optimizer >= max_tick)
    return {.broken = rule::durations_are_positive, .number = o.optimizer};
  if (o.node_size < 0) return {.broken = rule::counts_are_positive, .number = o.node_size};
  for (link_speed const& l : {o.inside, o.between, o.collective}) {
    if (l.latency < 0) return {.broken = rule::durations_are_positive, .number = l.latency};
    if (l.bandwidth < 0) return {.broken = rule::durations_are_positive, .number = l.bandwidth};
  }
  for (auto const* table : {&o.bytes, &o.shared_bytes})
    for (stage_bytes const& b : *table)
      for (byte_count size : {b.weights, b.optimizer_state, b.weight_gradient, b.activation, b.gradient,
                              b.checkpoint, b.stash, b.weight_stash})
        if (size < 0 || size >= max_tick) return {.broken = rule::sizes_fit, .number = size};
  for (job_bytes const& b : o.work_bytes)
    for (byte_count size : {b.output, b.state})
      if (size < 0 || size >= max_tick) return {.broken = rule::sizes_fit, .number = size};
  return {};
}

}  // namespace ashlar

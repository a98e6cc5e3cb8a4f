// Writes what a device does about the weights and gradients that it shares.
#pragma once

#include <ashlar/lower/collectives.hpp>
#include <ashlar/lower/options.hpp>
#include <ashlar/lower/program_writer.hpp>
#include <ashlar/lower/slot_coloring.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ashlar {

class sharing_writer {
 public:
  constexpr sharing_writer(schedule const& s, lower_options const& options, program_writer& out)
      : s_(s),
        options_(options),
        out_(out),
        sharded_(options.sharding != sharding_level::none),
        weight_gradient_(static_cast<std::size_t>(s.stage_count()), -1),
        weight_(weight_gradient_),
        shard_(weight_gradient_) {}

  // Takes the device's slots for weights and gradients out of the pool and keeps them.
  constexpr void begin_device(int device, slot_pool& pool) {
    device_ = device;
    reduced_.clear();
    late_.clear();
    if (!sharded_) {
      for (int stage = 0; stage < s_.stage_count(); ++stage) {
        weight_gradient_[at(stage)] = -1;
        if (s_.mode == execution_mode::inference) continue;
        for (int d : replicas(s_.where, stage))
          if (d == device) weight_gradient_[at(stage)] = pool.acquire(slot_kind::weight_gradient);
      }
      return;
    }
    std::vector<int> const chunks_here = chunks_of(s_.where, device);
    int const count = static_cast<int>(chunks_here.size());
    int const few = std::min(options_.weight_buffers, count);
    int const weights = options_.sharding == sharding_level::full ? few : count;
    int const gradients = options_.sharding == sharding_level::optimizer ? count : few;
    std::vector<int> number(weight_.size(), 0);  // of the chunk, by stage
    std::vector<int> weight_slots, gradient_slots;
    for (int b = 0; b < weights; ++b) weight_slots.push_back(pool.acquire(slot_kind::weight));
    for (int b = 0; b < gradients && s_.mode == execution_mode::training; ++b)
      gradient_slots.push_back(pool.acquire(slot_kind::weight_gradient));
    for (int c = 0; c < count; ++c) {
      int const stage = chunks_here[at(c)];
      number[at(stage)] = c;
      weight_[at(stage)] = weight_slots[at(c % weights)];
      if (s_.mode == execution_mode::inference) continue;
      weight_gradient_[at(stage)] = gradient_slots[at(c % gradients)];
      shard_[at(stage)] = pool.acquire(slot_kind::gradient_shard);
    }
    plan_ = collective_planner(s_, device, options_.prefetch)
                .plan(
                    count, [&](int stage) { return number[at(stage)] % weights; },
                    [&](int stage) { return number[at(stage)] % gradients; },
                    [&](int stage) { return is_late(stage); });
    next_ = 0;
  }

  // A pass of the device, at `position` of its order.
  constexpr bool is_parted(std::size_t position) const {
    return sharded_ && plan_.parted[position] != 0;
  }
  constexpr void use_weights(int stage) {
    if (sharded_) out_.use(weight_[at(stage)], access::read);
  }
  constexpr void use_accumulator(int stage) {
    out_.use(weight_gradient_[at(stage)], access::accumulate);
  }

  // Ahead of an event of that time, and ahead of the pass at a position: what stands before it.
  constexpr void write_until(int position, tick time) {
    while (sharded_ && stands_before(position)
           && (plan_.steps[next_].time < time
               || (plan_.steps[next_].time == time && plan_.steps[next_].code != opcode::all_gather)))
      write_next();
  }
  constexpr void write_ahead_of(int position) {
    while (sharded_ && stands_before(position)) write_next();
  }

  // At its time, or put off to the end of the stream.
  constexpr void reduce(int stage) {
    if (is_late(stage))
      late_.push_back(stage);
    else
      write_reduction(stage);
  }

  // Behind all passes.
  constexpr void end_device() {
    write_ahead_of(static_cast<int>(s_.order[at(device_)].size()));
    for (int stage : late_) write_reduction(stage);
    if (options_.step == optimizer_step::none || s_.mode == execution_mode::inference) return;
    if (options_.step == optimizer_step::after_statistics) {
      out_.begin({.code = opcode::statistics,
                  .lane = out_.made().collective_lane(),
                  .what = {pass_kind::backward_weight, 0, 0}});
      for (int stage : reduced_) out_.use(gradient(stage), access::read);
    }
    for (int stage : reduced_) {
      out_.begin({.code = opcode::optimize,
                  .lane = compute_lane,
                  .what = {pass_kind::backward_weight, stage, 0},
                  .peer = replica_of(s_.where, stage, device_)});
      out_.use(gradient(stage), access::accumulate);  // so that it waits for the statistics
    }
  }

 private:
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

  constexpr bool is_late(int stage) const {
    return options_.reduction == gradient_reduction::at_end
           || (options_.reduction == gradient_reduction::eager_middle_last
               && is_middle(stage, s_.stage_count()));
  }
  // Where a stage's gradient lies in the end.
  constexpr int gradient(int stage) const {
    return sharded_ ? shard_[at(stage)] : weight_gradient_[at(stage)];
  }
  constexpr bool stands_before(int position) const {
    return next_ < plan_.steps.size() && plan_.steps[next_].before <= position;
  }

  constexpr void write_next() {
    collective const c = plan_.steps[next_++];
    pass_kind const about =
        c.code == opcode::reduce_scatter ? pass_kind::backward_weight : pass_kind::forward;
    out_.begin({.code = c.code,
                .lane = out_.made().collective_lane(),
                .what = {about, c.stage, 0},
                .peer = replica_of(s_.where, c.stage, device_)});
    if (c.code == opcode::all_gather) return out_.use(weight_[at(c.stage)], access::write);
    if (c.code == opcode::release) return out_.use(weight_[at(c.stage)], access::scratch);
    out_.use(weight_gradient_[at(c.stage)], access::accumulate);
    out_.use(shard_[at(c.stage)], access::accumulate);
  }

  constexpr void write_reduction(int stage) {
    std::vector<int> const group = replicas(s_.where, stage);
    int rank = 0;
    while (group[at(rank)] != device_) ++rank;
    out_.begin({.code = opcode::all_reduce,
                .lane = out_.made().reduction_lane(group.size()),
                .what = {pass_kind::backward_weight, stage, 0},
                .peer = rank});
    out_.use(gradient(stage), access::accumulate);
    reduced_.push_back(stage);
  }

  schedule const& s_;
  lower_options options_;
  program_writer& out_;
  bool sharded_;
  int device_ = 0;
  std::vector<int> weight_gradient_, weight_, shard_;  // slots on the device, by stage
  collective_plan plan_;
  std::size_t next_ = 0;      // of the plan
  std::vector<int> late_;     // stages whose reduction has been put off
  std::vector<int> reduced_;  // stages in the order of reduction
};

}  // namespace ashlar

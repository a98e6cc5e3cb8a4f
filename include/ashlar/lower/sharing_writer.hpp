// Writes a device's instructions for the weights and gradients that it shares.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/collectives.hpp>
#include <ashlar/lower/direct_mapped.hpp>
#include <ashlar/lower/options.hpp>
#include <ashlar/lower/stream_writer.hpp>
#include <ashlar/model/held_groups.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Used device after device, from begin_device() to end_device(), with the passes in the order of the
// schedule.
class sharing_writer {
 public:
  // Refers to the schedule and writes to `out`.
  constexpr sharing_writer(schedule const& s, lower_options const& options, stream_writer& out)
      : s_(s),
        options_(options),
        out_(out),
        sharded_(options.sharding != sharding_level::none),
        held_(held_groups(out.made().groups.view(), s.device_count())),
        number_(static_cast<std::size_t>(s.stage_count()), 0) {}

  // Takes and keeps the device's slots for weights and gradients. Clears those that are summed up from
  // the beginning of the step.
  constexpr void begin_device(int device) {
    device_ = device;
    reduced_.clear();
    late_.clear();
    for (int group : nth(held_, device))
      if (s_.mode == execution_mode::training && (!sharded_ || group >= s_.stage_count())) {
        out_.put(slot_kind::weight_gradient, group, out_.acquire(slot_kind::weight_gradient));
        clear(slot_kind::weight_gradient, group);
      }
    if (sharded_) begin_sharded();
    if (s_.mode == execution_mode::training && options_.step == optimizer_step::after_norm)
      out_.put(slot_kind::scalar, gradient_norm, out_.acquire(slot_kind::scalar));
  }

  // Whether the device's pass number `position` opens a pair that cannot overlap.
  constexpr bool is_split(std::size_t position) const {
    return sharded_ && collectives_.split[position] != 0;
  }

  // Writes the steps before an event of that time, or before the pass at a position.
  constexpr void write_until(int position, tick time) {
    while (sharded_ && stands_before(position)
           && (collectives_.steps[next_].time < time
               || (collectives_.steps[next_].time == time
                   && collectives_.steps[next_].code != opcode::all_gather)))
      write_next();
  }
  constexpr void write_ahead_of(int position) {
    while (sharded_ && stands_before(position)) write_next();
  }

  // Writes a reduction at its time, or puts it off to the end of the stream.
  constexpr void reduce(int group) {
    if (is_late(group))
      late_.push_back(group);
    else
      write_reduction(group);
  }

  // Writes the steps after all passes.
  constexpr void end_device() {
    write_ahead_of(static_cast<int>(pass_count(nth(s_.order, device_))));
    for (int group : late_) write_reduction(group);
    if (options_.step == optimizer_step::none || s_.mode == execution_mode::inference) return;
    if (options_.step == optimizer_step::after_norm) {
      int const everyone = out_.made().groups.everyone();
      write({.code = opcode::measure, .subject = slot_kind::scalar, .group = everyone});
      write({.code = opcode::all_reduce, .subject = slot_kind::scalar, .group = everyone});
    }
    for (int group : reduced_) write({.code = opcode::optimize, .group = group});
  }

 private:
  // The stages that stages_on() gives, but only those that the device holds.
  constexpr std::vector<int> chunks() const {
    std::vector<int> found;
    for (int route = 0; route < s_.where.route_count(); ++route)
      for (int group : nth(held_, device_))
        if (group < s_.stage_count() && s_.where.has(route, group, device_) && !contains(found, group))
          found.push_back(group);
    return found;
  }

  constexpr void begin_sharded() {
    std::vector<int> const chunks_here = chunks();
    int const count = static_cast<int>(chunks_here.size());
    int const few = min_of(options_.weight_buffers, count);
    sharding_level const level = options_.sharding;
    bool const shares_weights = level == sharding_level::weights || level == sharding_level::full,
               shares_gradients = level == sharding_level::gradients || level == sharding_level::full;
    int const weights = shares_weights ? few : count;
    int const gradients = shares_gradients ? few : count;
    int const buffers = options_.weights.empty() ? weights : options_.weights.buffer_count(device_);
    weight_slots_.clear();
    for (int b = 0; b < buffers; ++b) weight_slots_.push_back(out_.acquire(slot_kind::weight));
    std::vector<int> gradient_slots;
    for (int b = 0; b < gradients && s_.mode == execution_mode::training; ++b)
      gradient_slots.push_back(out_.acquire(slot_kind::weight_gradient));
    for (int c = 0; c < count; ++c) {
      int const stage = nth(chunks_here, c);
      nth(number_, stage) = c;
      if (s_.mode == execution_mode::inference) continue;
      out_.put(slot_kind::weight_gradient, stage, nth(gradient_slots, c % gradients));
      out_.put(slot_kind::gradient_shard, stage, out_.acquire(slot_kind::gradient_shard));
      clear(slot_kind::gradient_shard, stage);
    }
    dynamic_array<timed_pass> const passes = numbered_passes(nth(s_.order, device_));
    std::vector<weight_stay> stays;
    if (options_.weights.empty())
      stays = direct_mapped_stays(
          view_of(passes), weights, [&](int stage) { return nth(number_, stage) % weights; },
          options_.prefetch);
    else
      stays = nth(options_.weights.stays, device_);
    collectives_ = collective_order_builder(s_, device_, view_of(passes))
                       .build(
                           stays, count, [&](int stage) { return nth(number_, stage) % gradients; },
                           [&](int stage) { return is_late(stage); });
    next_ = 0;
  }

  constexpr bool is_late(int group) const {
    return options_.reduction == gradient_reduction::at_end
           || (options_.reduction == gradient_reduction::eager_middle_last
               && is_middle(out_.made().groups.stages(group)[0], s_.stage_count()));
  }
  constexpr bool stands_before(int position) const {
    return next_ < collectives_.steps.size() && collectives_.steps[next_].before <= position;
  }

  constexpr void write(instruction i) {
    pass_kind const about = i.code == opcode::all_gather || i.code == opcode::release
                                ? pass_kind::forward
                                : pass_kind::backward_weight;
    parameter_groups const& groups = out_.made().groups;
    i.what = {about, i.group == groups.everyone() ? 0 : groups.stages(i.group)[0], 0};
    out_.write(i);
  }
  constexpr void clear(slot_kind kind, int group) {
    write({.code = opcode::clear, .subject = kind, .group = group});
  }

  constexpr void write_next() {
    collective const c = collectives_.steps[next_++];
    bool const scatters = c.code == opcode::reduce_scatter;
    if (c.code == opcode::clear) return clear(slot_kind::weight_gradient, c.stage);
    if (c.code == opcode::all_gather) out_.put(slot_kind::weight, c.stage, nth(weight_slots_, c.buffer));
    write({.code = c.code,
           .subject = scatters ? slot_kind::weight_gradient : slot_kind::weight,
           .group = c.stage});
  }

  constexpr void write_reduction(int group) {
    slot_kind const kind = out_.made().view().gradient_kind(group);
    write({.code = opcode::all_reduce, .subject = kind, .group = group});
    reduced_.push_back(group);
  }

  schedule const& s_;
  lower_options options_;
  stream_writer& out_;
  bool sharded_;
  lists<int> held_;
  std::vector<int> number_;  // by stage: which chunk of its device, where sharded
  int device_;
  std::vector<int> weight_slots_;  // of the device, by buffer
  collective_order collectives_;
  std::size_t next_;          // of `collectives_`
  std::vector<int> late_;     // groups whose reduction has been put off
  std::vector<int> reduced_;  // groups in the order of reduction
};

}  // namespace ashlar

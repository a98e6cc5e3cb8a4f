// Checks that values shared by devices and data-parallel ranks are complete: weights are there when a
// pass needs them, gradients start from zero and are scattered whole, and the optimizer comes last.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/held_groups.hpp>
#include <ashlar/prove/messages.hpp>

#include <cstddef>

namespace ashlar {

// Walks each device's stream and keeps the state of each of its parameter groups. All data-parallel
// ranks run the same streams, so one rank's proof holds for all, and their collectives meet in the same
// order.
class sharing_walk {
 public:
  // Refers to both.
  constexpr sharing_walk(program const& p, message_index const& index)
      : p_(p),
        index_(index),
        sharded_(p.sharding != sharding_level::none),
        view_(p.groups.view()),
        held_(held_groups(view_, p.device_count())),
        groups_(static_cast<std::size_t>(p.groups.count())) {}

  // Walks a well-formed program whose passes and reductions are complete. Linear in instructions and
  // holders.
  constexpr diagnosis run() {
    for (int d = 0; d < p_.device_count() && found_.ok(); ++d) {
      for (int group : nth(held_, d)) of(group) = {};  // no other is named here
      measured_ = summed_ = none;
      instruction const* const all = p_.instructions.data();
      for (int i = stream_begin(p_, d), end = stream_end(p_, d); i < end && found_.broken == rule::none;
           ++i) {
        instruction const& self = all[i];
        if (self.code == opcode::compute) {
          if (self.what.kind != pass_kind::work && (sharded_ || gives_weight_gradient(self.what.kind)))
            use(i, self.what);
        } else if (self.code != opcode::send && self.code != opcode::receive) {
          visit(i, self);
        }
      }
      if (found_.ok()) end_device(d);
    }
    return found_;
  }

 private:
  static constexpr int none = -1;

  // The instructions that brought about the state of a group on the device.
  struct group_state {
    int gathered = none;
    int given_up = none;
    int last_use = none;  // since it was gathered
    int cleared = none;
    int added = none;  // since it was cleared
    int shard_cleared = none;
    int reduced = none;
    int optimized = none;
  };

  constexpr group_state& of(int group) { return nth(groups_, group); }

  constexpr void complain(rule broken, int first, int second = none) {
    if (!found_.ok()) return;
    found_.broken = broken;
    found_.first = index_.at(first);
    if (second != none) found_.second = index_.at(second);
  }

  constexpr void visit(int i, instruction const& self) {
    switch (self.code) {
      case opcode::compute:
      case opcode::send:
      case opcode::receive:
      case opcode::offload:
      case opcode::reload:
        return;
      case opcode::all_gather: {
        group_state& g = of(self.group);
        if (g.gathered != none) return complain(rule::gathered_weights_are_given_up, i, g.gathered);
        g.gathered = i;
        g.given_up = g.last_use = none;
        return;
      }
      case opcode::release: {
        group_state& g = of(self.group);
        if (g.gathered == none) return complain(rule::gathered_weights_are_given_up, i, g.given_up);
        if (g.last_use == none) return complain(rule::gathered_weights_are_used, g.gathered, i);
        g.gathered = none;
        g.given_up = i;
        return;
      }
      case opcode::clear:
        if (self.subject == slot_kind::work_state) return;  // see complete.hpp
        return clear(i, self);
      case opcode::reduce_scatter: {
        group_state& g = of(self.group);
        if (g.added == none) return complain(rule::gradient_is_scattered_whole, i, g.reduced);
        if (g.shard_cleared == none) return complain(rule::gradient_starts_from_zero, i);
        g.added = g.cleared = none;
        return;
      }
      case opcode::all_reduce:
        if (sums_work(self)) return;
        return self.subject == slot_kind::scalar ? sum_norm(i) : reduce(i, self);
      case opcode::measure:
        if (p_.step != optimizer_step::after_norm || measured_ != none)
          return complain(rule::norm_is_of_all_gradients, i, measured_);
        measured_ = i;
        return;
      case opcode::optimize: {
        group_state& g = of(self.group);
        if (g.reduced == none || g.optimized != none || p_.step == optimizer_step::none)
          return complain(rule::optimizer_steps_once_after_reduction, i, g.optimized);
        g.optimized = i;
        if (p_.step == optimizer_step::after_norm && summed_ == none)
          complain(rule::norm_is_of_all_gradients, i, measured_);
        return;
      }
    }
  }

  constexpr void use(int i, pass what) {
    if (sharded_) {
      group_state& g = of(what.stage);
      if (g.gathered == none) return complain(rule::weights_are_resident_when_used, i, g.given_up);
      g.last_use = i;
    }
    if (!gives_weight_gradient(what.kind)) return;
    for_each_group_of(view_, p_.stage_count(), what.stage, [&](int group) {
      group_state& g = of(group);
      if (g.cleared == none) complain(rule::gradient_starts_from_zero, i);
      g.added = i;
    });
  }

  constexpr void clear(int i, instruction const& self) {
    group_state& g = of(self.group);
    bool const shard = self.subject == slot_kind::gradient_shard;
    int& cleared = shard ? g.shard_cleared : g.cleared;
    if (cleared != none) return complain(rule::gradient_starts_from_zero, i, cleared);
    cleared = i;
  }

  constexpr void reduce(int i, instruction const& self) {
    group_state& g = of(self.group);
    bool const shard = self.subject == slot_kind::gradient_shard;
    if (shard && g.added != none) return complain(rule::gradient_is_scattered_whole, g.added, i);
    if ((shard ? g.shard_cleared : g.cleared) == none)
      return complain(rule::gradient_starts_from_zero, i);
    if (measured_ != none && p_.groups.holders(self.group)[0] == index_.device(i))
      return complain(rule::norm_is_of_all_gradients, measured_, i);
    g.reduced = i;
  }

  constexpr void sum_norm(int i) {
    if (measured_ == none && found_.ok())
      found_ = {.broken = rule::norm_is_of_all_gradients,
                .first = {.device = index_.device(i), .code = opcode::measure}};
    if (summed_ != none) complain(rule::norm_is_of_all_gradients, i, summed_);
    summed_ = i;
  }

  constexpr void end_device(int device) {
    site place{.device = device, .code = opcode::measure};
    bool const steps = p_.mode == execution_mode::training && p_.step != optimizer_step::none;
    if (steps && p_.step == optimizer_step::after_norm) {
      if (measured_ == none || summed_ == none) {
        if (measured_ != none) place.code = opcode::all_reduce;
        found_ = {.broken = rule::norm_is_of_all_gradients, .first = place};
        return;
      }
    }
    for (int group : nth(held_, device)) {
      group_state const& g = of(group);
      if (g.gathered != none)
        return complain(
            g.last_use != none ? rule::gathered_weights_are_given_up : rule::gathered_weights_are_used,
            g.gathered);
      bool const in_shards = p_.view().gradient_kind(group) == slot_kind::gradient_shard;
      if (g.cleared != none && g.added == none && (in_shards || g.reduced == none))
        return complain(rule::gradient_starts_from_zero, g.cleared);
      if (g.shard_cleared != none && g.reduced == none)
        return complain(rule::gradient_starts_from_zero, g.shard_cleared);
      if (steps && g.optimized == none) {
        place.code = opcode::optimize;
        place.what = {pass_kind::backward_weight, p_.groups.stages(group)[0], 0};
        found_ = {.broken = rule::optimizer_steps_once_after_reduction, .first = place};
        return;
      }
    }
  }

  program const& p_;
  message_index const& index_;
  bool sharded_;
  group_view view_;
  lists<int> held_;
  dynamic_array<group_state> groups_;
  int measured_ = none;
  int summed_ = none;
  diagnosis found_;
};

// The first rule about shared weights and gradients that the program breaks. Assumes the levels before
// it.
constexpr diagnosis check_sharing(program const& p, message_index const& index) {
  return sharing_walk(p, index).run();
}

}  // namespace ashlar

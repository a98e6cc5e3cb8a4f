// What data-parallel ranks share is complete: weights are there when a pass needs them, gradients are
// scattered whole, and the optimizer comes last.
#pragma once

#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/prove/messages.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Walks each device's stream and keeps the state of each of its stages. All data-parallel ranks run the
// same streams, so what holds on one holds on all, and their collectives meet in the same order.
class sharing_walk {
 public:
  constexpr sharing_walk(program const& p, message_index const& index)
      : p_(p), index_(index), sharded_(p.sharding != sharding_level::none) {}

  // For a program whose passes and reductions are complete. Linear in instructions.
  constexpr diagnosis run() {
    for (int d = 0; d < p_.device_count() && found_.ok(); ++d) {
      device_ = d;
      stages_.assign(static_cast<std::size_t>(p_.stage_count()), {});
      for (int stage : chunks_of(p_.where, d)) of(stage).replica = replica_of(p_.where, stage, d);
      first_optimize_ = statistics_ = last_reduction_ = none;
      for (int i = p_.stream_begin[static_cast<std::size_t>(d)];
           i < p_.stream_begin[static_cast<std::size_t>(d) + 1] && found_.ok(); ++i) {
        instruction const& self = p_.instructions[static_cast<std::size_t>(i)];
        if (self.code != opcode::send && self.code != opcode::receive) visit(i, self);
      }
      if (found_.ok()) end_device();
    }
    return found_;
  }

 private:
  static constexpr int none = -1;

  // Of one stage on the device: the instructions that brought about its state.
  struct stage_state {
    int replica = none;
    int gathered = none;
    int given_up = none;
    int last_use = none;  // since it was gathered
    int unscattered = none;
    int reduced = none;
    int optimized = none;
  };

  constexpr stage_state& of(int stage) { return stages_[static_cast<std::size_t>(stage)]; }

  constexpr void complain(rule broken, int first, int second = none) {
    if (!found_.ok()) return;
    found_.broken = broken;
    found_.first = index_.at(first);
    if (second != none) found_.second = index_.at(second);
  }

  constexpr void visit(int i, instruction const& self) {
    if (self.what.kind == pass_kind::work && self.code == opcode::compute) return;
    if (self.code == opcode::statistics) return take_statistics(i);
    bool const known = self.what.stage >= 0 && self.what.stage < p_.stage_count();
    if (!known || of(self.what.stage).replica == none) return complain(rule::every_pass_is_known, i);
    stage_state& s = of(self.what.stage);
    if (self.code != opcode::compute && self.code != opcode::all_reduce && self.peer != s.replica)
      return complain(rule::every_pass_is_known, i);
    switch (self.code) {
      case opcode::compute:
        return use(i, self.what.kind, s);
      case opcode::all_gather:
        if (!sharded_) return complain(rule::gathered_weights_are_used, i);
        if (s.gathered != none) return complain(rule::gathered_weights_are_given_up, i, s.gathered);
        s.gathered = i;
        s.given_up = s.last_use = none;
        return;
      case opcode::release:
        if (s.gathered == none) return complain(rule::gathered_weights_are_given_up, i, s.given_up);
        if (s.last_use == none) return complain(rule::gathered_weights_are_used, s.gathered, i);
        s.gathered = none;
        s.given_up = i;
        return;
      case opcode::reduce_scatter:
        if (!sharded_ || s.unscattered == none)
          return complain(rule::gradient_is_scattered_whole, i, s.reduced);
        s.unscattered = none;
        return;
      case opcode::all_reduce:
        if (s.unscattered != none) return complain(rule::gradient_is_scattered_whole, s.unscattered, i);
        s.reduced = last_reduction_ = i;
        return;
      case opcode::optimize:
        if (s.reduced == none || s.optimized != none || p_.step == optimizer_step::none)
          return complain(rule::optimizer_steps_once_after_reduction, i, s.optimized);
        s.optimized = i;
        if (first_optimize_ == none) first_optimize_ = i;
        return;
      case opcode::send:
      case opcode::receive:
      case opcode::statistics:
        return;
    }
  }

  constexpr void use(int i, pass_kind kind, stage_state& s) {
    if (!sharded_) return;
    if (s.gathered == none) return complain(rule::weights_are_resident_when_used, i, s.given_up);
    s.last_use = i;
    if (gives_weight_gradient(kind)) s.unscattered = i;
  }

  constexpr void take_statistics(int i) {
    if (p_.step != optimizer_step::after_statistics || statistics_ != none)
      return complain(rule::statistics_see_all_gradients, i, statistics_);
    if (first_optimize_ != none) return complain(rule::statistics_see_all_gradients, i, first_optimize_);
    statistics_ = i;
  }

  constexpr void end_device() {
    site place{.device = device_, .code = opcode::statistics};
    bool const steps = p_.mode == execution_mode::training && p_.step != optimizer_step::none;
    if (steps && p_.step == optimizer_step::after_statistics) {
      if (statistics_ == none) {
        found_ = {.broken = rule::statistics_see_all_gradients, .first = place};
        return;
      }
      if (last_reduction_ > statistics_)
        return complain(rule::statistics_see_all_gradients, statistics_, last_reduction_);
    }
    for (int stage = 0; stage < p_.stage_count(); ++stage) {
      stage_state const& s = of(stage);
      if (s.replica == none) continue;
      if (s.gathered != none) {
        bool const used = s.last_use != none;
        return complain(used ? rule::gathered_weights_are_given_up : rule::gathered_weights_are_used,
                        s.gathered);
      }
      if (steps && s.optimized == none) {
        place.code = opcode::optimize;
        place.what = {pass_kind::backward_weight, stage, 0};
        found_ = {.broken = rule::optimizer_steps_once_after_reduction, .first = place};
        return;
      }
    }
  }

  program const& p_;
  message_index const& index_;
  bool sharded_;
  int device_ = 0;
  std::vector<stage_state> stages_;
  int first_optimize_ = none;
  int statistics_ = none;
  int last_reduction_ = none;
  diagnosis found_;
};

// Unsharded programs that leave the optimizer to the worker have nothing to look at: one pass over their
// instructions finds that none is out of place.
constexpr diagnosis check_sharing(program const& p, message_index const& index) {
  if (p.sharding != sharding_level::none || p.step != optimizer_step::none)
    return sharing_walk(p, index).run();
  for (instruction const& i : p.instructions)
    if (i.code > opcode::all_reduce) return sharing_walk(p, index).run();
  return {};
}

}  // namespace ashlar

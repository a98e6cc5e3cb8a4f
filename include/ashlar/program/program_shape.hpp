// Which passes a program has, and how often each of its values is read.
#pragma once

#include <ashlar/model/dependencies.hpp>
#include <ashlar/program/program.hpp>

namespace ashlar {

// The facts that determine the operands of a program's instructions: its stages, where they live, who
// shares parameters, and which passes there are. Refers to the program, whose instructions need not be
// written yet.
class program_shape {
 public:
  // Begins without any passes.
  constexpr explicit program_shape(program_view const& p)
      : p_(p), has_work_(!p.work.empty()), passes_(p.stage_count, p.micro_batch_count, 0) {}

  // Notes that the program runs this pass. Its stage and micro-batch must exist.
  constexpr void add(pass const& what) {
    if (is_part(what)) return;
    passes_.at(what.micro_batch, what.stage, result_of(what.kind)) |=
        what.kind == pass_kind::backward ? fused : one;
  }
  // Notes that the value of this forward leaves for the host until it is needed. It must exist.
  constexpr void add_offload(pass const& forward) {
    passes_.at(forward.micro_batch, forward.stage, result::activation) |= leaves;
    some_leave_ = true;
  }
  // Notes all passes of the program, and the values that leave. Their stages and micro-batches must
  // exist.
  constexpr void add_all() {
    for (instruction const& i : p_.instructions)
      if (i.code == opcode::compute)
        add(i.what);
      else if (i.code == opcode::offload)
        add_offload(i.what);
  }

  constexpr program_view const& of() const { return p_; }
  constexpr bool is_sharded() const { return p_.sharding != sharding_level::none; }
  constexpr bool has_work() const { return has_work_; }
  // Whether the program recomputes this stage for this micro-batch.
  constexpr bool is_recomputed(pass const& what) const {
    return passes_.at(what.micro_batch, what.stage, result::recomputed) != 0;
  }
  // Whether the value of this stage's and micro-batch's forward is on the host for a while.
  constexpr bool is_offloaded(pass const& what) const {
    return some_leave_ && (passes_.at(what.micro_batch, what.stage, result::activation) & leaves) != 0;
  }
  // The value that a forward keeps for the backward, or for its recompute; and how many instructions
  // read that on the device once it is back.
  constexpr value_key kept_by(pass const& forward) const {
    return {is_recomputed(forward) ? slot_kind::checkpoint : slot_kind::stash, forward.stage,
            forward.micro_batch};
  }
  constexpr int readers_of_kept(pass const& forward) const {
    return is_recomputed(forward) ? 1 : stash_readers(forward);
  }
  // How often a stash is read: once by a fused backward, once each by an input and a weight pass, and by
  // work.
  constexpr int stash_readers(pass const& what) const {
    unsigned char const* const of = &passes_.at(what.micro_batch, what.stage, result{});
    int const input = of[static_cast<int>(result::input_gradient)];
    return (input == fused ? 1 : input + of[static_cast<int>(result::weight_gradient)])
           + work_readers(what);
  }
  constexpr bool has_backward(pass const& what) const {
    return passes_.at(what.micro_batch, what.stage, result::input_gradient) != 0;
  }
  constexpr int work_readers(pass const& what) const {
    return has_work_ ? static_cast<int>(p_.work.readers(what).size()) : 0;
  }
  constexpr int readers_of_micro_gradient(int stage, int micro_batch) const {
    int count = 0;
    for (int job = 0; job < p_.work.job_count(); ++job)
      count += p_.work.gradient_of(job) == read_gradient{stage} && micro_batch < p_.work.part_count(job);
    return count;
  }
  constexpr int weight_passes(pass const& what) const {
    return passes_.at(what.micro_batch, what.stage, result::weight_gradient);
  }
  // How many passes on a device read the activation there: forwards of next stages, or backwards of
  // shards.
  constexpr int readers_on(int device, pass const& forward) const {
    int count = 0;
    for (int after : p_.graph.readers(forward.stage))
      if (p_.device_of(forward.micro_batch, after) == device) count += meetings_with(forward, after);
    return count;
  }
  // How many instructions read an activation on its own device: those passes there, and a send to each
  // other device that has some.
  constexpr int readers_of_output(int device, pass const& forward) const {
    int count = 0;
    list_view<int> const readers = p_.graph.readers(forward.stage);
    for (int const* to = readers.first; to != readers.last; ++to)
      count += p_.device_of(forward.micro_batch, *to) == device ? meetings_with(forward, *to)
               : to == readers.first                            ? 1
                                     : int{is_first_on_its_device(forward, *to)};
    return count;
  }
  // How many instructions read a gradient on a device: the backwards of the stage before if they are
  // there, otherwise the one send.
  constexpr int readers_of_gradient(int device, pass const& backward, int before) const {
    return p_.backward_device_of(backward.micro_batch, before) == device
               ? meetings_with(backward, before)
               : 1;
  }
  // How many passes of another stage meet one of a stage.
  constexpr int meetings_with(pass const& what, int other) const {
    return p_.graph.has_sizes()
               ? matching_micro_batches(p_.graph.size_of(what.stage), p_.graph.size_of(other))
               : 1;
  }
  // An activation goes to a device once, named by the first of the stages there that need it.
  constexpr bool is_first_on_its_device(pass const& forward, int to) const {
    int const device = p_.device_of(forward.micro_batch, to);
    for (int after : p_.graph.readers(forward.stage)) {
      if (after == to) return true;
      if (p_.device_of(forward.micro_batch, after) == device) return false;
    }
    return false;
  }

 private:
  static constexpr unsigned char one = 1;
  static constexpr unsigned char fused = 2;
  static constexpr unsigned char leaves = 4;

  program_view p_;
  bool has_work_;
  result_table<unsigned char>
      passes_;  // 0: no such pass, `one`, `fused`; and whether its value `leaves`
  bool some_leave_ = false;
};

}  // namespace ashlar

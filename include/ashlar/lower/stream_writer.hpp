// Writes a program instruction by instruction and finds a slot for every value.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/slot_coloring.hpp>
#include <ashlar/program/operands.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

// Used device after device, from begin_stream() to end_stream().
class stream_writer {
 public:
  // Begins with a program that has all but instructions, operands and slots.
  constexpr stream_writer(program start, slot_reuse reuse)
      : made_(std::move(start)),
        shape_(made_.view()),
        micro_batches_(made_.route.size()),
        kind_size_(static_cast<std::size_t>(made_.stage_count()) * made_.route.size()),
        stage_values_((made_.graph.sequence_chunks() == 1 ? 4 : 6) * kind_size_),
        gradients_(static_cast<std::size_t>(made_.graph.edge_count()) * made_.route.size()),
        groups_(static_cast<std::size_t>(made_.groups.count())),
        step_values_(groups_ * kinds_of_the_step),
        work_values_(part_count() + (made_.work.empty() ? 0 : kind_size_)),
        work_states_(static_cast<std::size_t>(made_.work.job_count())),
        host_values_(made_.offloads ? 2 * kind_size_ : 0),
        pool_(reuse) {}
  stream_writer(stream_writer const&) = delete;  // the shape refers to the program
  stream_writer& operator=(stream_writer const&) = delete;

  // Allocates for as many instructions and operands.
  constexpr void reserve(std::size_t instructions, std::size_t operands) {
    made_.instructions.reserve(instructions);
    made_.operands.reserve(operands);
  }
  constexpr program_shape& shape() { return shape_; }
  constexpr program const& made() const { return made_; }
  constexpr program take() { return std::move(made_); }

  // Starts the stream of this device, up to end_stream().
  constexpr void begin_stream(int device) {
    device_ = device;
    pool_.clear();
  }
  constexpr void end_stream() {
    made_.stream_begin.push_back(static_cast<int>(made_.instructions.size()));
    append(made_.slots, pool_.slots());
    made_.slot_begin.push_back(static_cast<int>(made_.slots.size()));
  }

  // A slot for values of the step, for as long as the program; which group's or job's values it holds.
  constexpr int acquire(slot_kind kind) { return pool_.acquire(kind); }
  constexpr void put(slot_kind kind, int group, int slot) { of_the_step(kind, group) = slot; }

  // Moves the time on to `now`: slots whose values are not read again are free.
  constexpr void advance(tick now) { pool_.advance(now); }

  // Writes an instruction that ends at `end`, and finds where its operands lie. A value holds its slot
  // from the start of its writer to the end of its last reader; one without readers is scratch space of
  // its writer. Values of the step keep their slots, so the end of one that has no others does not
  // matter.
  constexpr void write(instruction i, tick end = 0) {
    i.lane = made_.lane_of(i);
    i.first_operand = operand_count_;
    end_ = end;
    for_each_operand(shape_, device_, i, *this);
    i.operand_count = operand_count_ - i.first_operand;
    instruction const& written = i;  // one that moves is pushed in more steps
    made_.instructions.push_back(written);
  }

  // Writes the next operand of the instruction that write() is at.
  constexpr void operator()(value_key const& key, access how, int reads) {
    int slot;
    if (is_of_the_step(key.kind)) {
      slot = of_the_step(key.kind, key.of);
    } else if (how == access::read) {
      value& v = of_micro_batch(key);
      slot = v.slot;
      if (v.until < end_) v.until = end_;
      if (--v.reads_left == 0) pool_.release(slot, v.until);
    } else {
      bool const takes_over = how == access::accumulate;  // a sum of work
      slot = takes_over ? of_micro_batch(summed_value(made_.work.view(), part_of(key))).slot
                        : pool_.acquire(key.kind);
      if (reads == 0)
        pool_.release(slot, end_);
      else
        of_micro_batch(key) = {slot, reads, end_};
    }
    operand const used{slot, how};  // one that moves is pushed in more steps
    made_.operands.push_back(used);
    ++operand_count_;
  }

 private:
  constexpr std::size_t part_count() const { return made_.work.view().parts.size(); }
  static constexpr std::size_t kinds_of_the_step =
      static_cast<std::size_t>(slot_kind::work_state)
      - static_cast<std::size_t>(slot_kind::weight_gradient);

  // One that is read. Says nothing at first, so that tables of kinds that no pass has are never touched.
  struct value {
    int slot;
    int reads_left;
    tick until;
  };

  constexpr int& of_the_step(slot_kind kind, int group) {
    if (kind == slot_kind::work_state) return nth(work_states_, group);
    return step_values_[(static_cast<std::size_t>(kind)
                         - static_cast<std::size_t>(slot_kind::weight_gradient))
                            * groups_
                        + static_cast<std::size_t>(group)];
  }
  // One entry serves all devices: each writes a value before it reads it.
  constexpr value& of_micro_batch(value_key const& v) {
    auto const k = static_cast<std::size_t>(v.micro_batch);
    if (v.kind == slot_kind::gradient)
      return gradients_[static_cast<std::size_t>(made_.graph.edge(v.to, v.of)) * micro_batches_ + k];
    std::size_t const of_stage = static_cast<std::size_t>(v.of) * micro_batches_ + k;
    if (v.kind < slot_kind::work) {
      std::size_t const which =
          v.kind == slot_kind::activation ? 0 : static_cast<std::size_t>(v.kind) - 1;
      return stage_values_[which * kind_size_ + of_stage];
    }
    if (is_on_host(v.kind))
      return host_values_[(v.kind == slot_kind::host_stash ? kind_size_ : 0) + of_stage];
    return work_values_[v.kind == slot_kind::micro_gradient
                            ? part_count() + of_stage
                            : static_cast<std::size_t>(made_.work.view().number(part_of(v)))];
  }

  program made_;
  program_shape shape_;
  std::size_t micro_batches_;
  std::size_t kind_size_;              // of the values of a kind
  dynamic_array<value> stage_values_;  // by kind, stage, micro-batch; activation, checkpoint, stash,
                                       // weight_stash and two more of sequences
  dynamic_array<value> gradients_;     // by edge and micro-batch
  std::size_t groups_;
  dynamic_array<int> step_values_;    // slots on the device, by kind and group
  dynamic_array<value> work_values_;  // by part; then micro-gradients by stage and micro-batch
  dynamic_array<int> work_states_;    // slots on the device, by job
  dynamic_array<value> host_values_;  // by kind, stage, micro-batch; none if nothing leaves
  slot_pool pool_;
  int device_;
  tick end_;               // of the instruction that is written
  int operand_count_ = 0;  // so far; a vector's size() takes more steps of constant evaluation
};

}  // namespace ashlar

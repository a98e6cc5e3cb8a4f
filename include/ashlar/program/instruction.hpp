// One step of one device's stream, and the slots that it works on.
#pragma once

#include <ashlar/core/opcode.hpp>
#include <ashlar/core/pass.hpp>

namespace ashlar {

// A slot is a buffer with a fixed address. Slots of one kind on one device share a pool. Those of the
// last two kinds lie in the memory of the device's host.
enum class slot_kind : unsigned char {
  activation,    // a stage's output: written by its forward or received, read by next stages or sent
  gradient,      // of a stage's input, for one previous stage: written by its backward or received
  checkpoint,    // kept by a forward for its recompute
  stash,         // kept by a forward or recompute for the backward passes
  weight_stash,  // kept by a backward_input for its backward_weight
  // The state of a sequence in chunks, left by the forward before: all that the forward of a chunk needs
  // of the chunks before it (keys and values of attention, or a recurrence's state);
  sequence_state,
  sequence_gradient,  // and the gradient of that, left by the backward of the chunk for the one before
  work,               // the output of a part of work
  micro_gradient,     // one micro-batch's part of a stage's gradient, where work takes it
  weight_gradient,    // the accumulator of a parameter group
  weight,             // gathered parameters of a group
  gradient_shard,     // this rank's shard of a group's gradient
  scalar,             // a number that all devices know in the end
  work_state,         // kept by a job on a device from step to step
  host_checkpoint,    // a checkpoint while it is on the host,
  host_stash,         // and a stash
};
inline constexpr int slot_kinds = 16;

// Whether values of the kind last for the step (or for all steps) and have slots of their own. All
// others belong to a micro-batch or a part of work.
constexpr bool is_of_the_step(slot_kind kind) {
  return kind >= slot_kind::weight_gradient && kind < slot_kind::host_checkpoint;
}

// Whether slots of the kind lie in the memory of the host.
constexpr bool is_on_host(slot_kind kind) { return kind >= slot_kind::host_checkpoint; }
// The kind of a checkpoint or a stash while it is on the host; and of both on the device. All others
// stay as they are.
constexpr slot_kind on_host(slot_kind kind) {
  if (kind == slot_kind::checkpoint) return slot_kind::host_checkpoint;
  return kind == slot_kind::stash ? slot_kind::host_stash : kind;
}
constexpr slot_kind on_device(slot_kind kind) {
  if (kind == slot_kind::host_checkpoint) return slot_kind::checkpoint;
  return kind == slot_kind::host_stash ? slot_kind::stash : kind;
}

// A value that an instruction reads or writes.
struct value_key {
  slot_kind kind = slot_kind::activation;
  int of = -1;           // the stage that made it; the job; the parameter group; of a scalar its number
  int micro_batch = -1;  // of work: the part
  int to = -1;           // of a gradient: the previous stage that it is for

  friend constexpr bool operator==(value_key const&, value_key const&) = default;
};

// The output of a part of work, and the part that it belongs to.
constexpr value_key work_value(part_id part) { return {slot_kind::work, part.job, part.part}; }
constexpr part_id part_of(value_key const& work) { return {work.of, work.micro_batch}; }

// The scalar that an optimizer step may read: the squared norm of all gradients.
inline constexpr int gradient_norm = 0;

// How an instruction uses a slot. Accumulation reads and writes. Scratch is a write that nothing reads.
enum class access : unsigned char { read, write, accumulate, scratch };

// A slot that an instruction reads or writes.
struct operand {
  int slot = 0;  // on the instruction's device
  access how = access::read;

  friend constexpr bool operator==(operand const&, operand const&) = default;
};

// Lanes are in-order queues of a device that run concurrently. Lane 0 computes. Then come the lanes of
// transfers: one for all, one or two for each peer, or one for each kind of value. The lane of
// collectives (between holders of a group, or data-parallel ranks) is the next, and then, if one rank
// has all shards, that of scatters. A program that copies to the host has two more, the last: out and
// in.
inline constexpr int compute_lane = 0;
inline constexpr int first_transfer_lane = 1;

// One instruction of a device's stream. Which fields count depends on `code`.
struct instruction {
  opcode code = opcode::compute;
  slot_kind subject = slot_kind::activation;  // clear and collectives: the kind of value
  bool overlaps_next = false;  // compute: runs overlapped with the next instruction of the stream
  int lane = compute_lane;
  pass what =
      {};  // compute: the pass; send, receive: the pass that made the value; offload, reload: the
           // forward that did; all_reduce of work: the part; else: the first stage of the group
  // send, receive: the stage that the value is for; the forward's own for what it keeps, if the stage
  // moves
  int to = -1;
  int peer = -1;   // send, receive: the other device
  int group = -1;  // collectives, clear, optimize, measure: the parameter group, everyone, or the job's
                   // group
  int first_operand = 0;
  int operand_count = 0;

  friend constexpr bool operator==(instruction const&, instruction const&) = default;
};

// Whether an instruction copies between a device and its host.
constexpr bool copies_to_or_from_host(instruction const& i) { return i.code >= opcode::offload; }

// Whether an all-reduce is that of a parameter group's gradient, which is then complete, or a part of
// collective work.
constexpr bool sums_gradient(instruction const& i) {
  return i.code == opcode::all_reduce && i.subject != slot_kind::scalar && i.subject != slot_kind::work;
}
constexpr bool sums_work(instruction const& i) {
  return i.code == opcode::all_reduce && i.subject == slot_kind::work;
}

}  // namespace ashlar

// One step of one device's stream, and the slots that it works on.
#pragma once

#include <ashlar/core/opcode.hpp>
#include <ashlar/core/pass.hpp>

namespace ashlar {

// A slot is a buffer with a fixed address. Slots of one kind on one device share a pool.
enum class slot_kind : unsigned char {
  activation,    // a stage's output: written by its forward or received, read by the next stage or sent
  gradient,      // of a stage's input, for one previous stage: written by its backward or received
  checkpoint,    // what a forward keeps for its recompute
  stash,         // what a forward or recompute keeps for the backward passes
  weight_stash,  // what a backward_input keeps for its backward_weight
  weight_gradient,  // the accumulator of a stage; lives as long as the program
  weight,           // a stage's gathered weights
  gradient_shard,   // this rank's shard of a stage's weight gradient; lives as long as the program
};
inline constexpr int slot_kinds = 8;

// How an instruction uses a slot. Accumulation reads and writes. Scratch is a write that nobody reads.
enum class access : unsigned char { read, write, accumulate, scratch };

struct operand {
  int slot = 0;  // on the instruction's device
  access how = access::read;

  friend constexpr bool operator==(operand const&, operand const&) = default;
};

// Lanes are in-order queues of a device which run concurrently. Lane 0 computes; transfers have one lane
// or one a peer; collectives (between replicas of a stage or data-parallel ranks) come last.
inline constexpr int compute_lane = 0;
inline constexpr int first_transfer_lane = 1;

struct instruction {
  opcode code = opcode::compute;
  int lane = compute_lane;
  pass what = {};  // compute: the pass; send, receive: the pass that made the value; else: the stage
  int to = -1;     // send, receive: the stage that the value is for
  int peer = -1;   // send, receive: the other device; of a stage's weights or gradient: the number of
                   // this replica, which is the order of summation
  bool overlaps_next = false;  // compute: runs overlapped with the next instruction of the stream
  int first_operand = 0;
  int operand_count = 0;

  friend constexpr bool operator==(instruction const&, instruction const&) = default;
};

}  // namespace ashlar

// The state of a run of a program.
#pragma once

#include <ashlar/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace oracle {

using ashlar::access;
using ashlar::execution_mode;
using ashlar::instruction;
using ashlar::opcode;
using ashlar::operand;
using ashlar::pass;
using ashlar::pass_kind;
using ashlar::pass_kinds;
using ashlar::program;
using ashlar::slot_kind;

// Everything that tells one value from another; for shared parameters, the group instead of a stage.
// `to`: the stage that the value is for, -1 if for all.
struct tag {
  slot_kind kind = slot_kind::activation;
  int stage = -1;
  int micro_batch = -1;
  int to = -1;

  friend bool operator==(tag const&, tag const&) = default;
};

// Bits of a gradient, beside its micro-batches: it is summed over the holders, used by the optimizer,
// and began with zeros.
inline constexpr unsigned reduced = 1U << 31, stepped = 1U << 30, cleared = 1U << 29;
// The micro-batches inside, a bit each. Bits of those that work has taken out again are `taken_shift`
// further up.
inline constexpr int taken_shift = 14;
inline constexpr unsigned micro_batch_bits = (1U << taken_shift) - 1;
// A bit of a forward's values: it is still to be copied to the host.
inline constexpr unsigned leaving = 1U << 12;
// Bits of a scalar: this device's part, the sum of all.
inline constexpr unsigned part = 1, sum = 2;
// Bits of weights: gathered, and some pass has used them since.
inline constexpr unsigned resident = 1, used = 2;
// Bits of work's state: it is there, zeros again at the end of the step, and from `state_shift` on the
// micro-batches whose gradients it has read.
inline constexpr int state_shift = 2;

struct content {
  tag value;
  unsigned bits = 0;  // reads to come; in a gradient the micro-batches inside; of weights as above
  friend bool operator==(content const&, content const&) = default;
};
struct state {
  std::vector<std::uint8_t> at;      // by queue: how many have ended, up to the first that has not
  std::vector<std::uint16_t> ahead;  // by queue, a bit for each that has ended beyond that
  std::vector<content> slots;
  friend bool operator==(state const&, state const&) = default;
};

}  // namespace oracle

// The short names of passes and instructions, and of sharding levels. Those of passes are PyTorch's:
// stage, kind, micro-batch, as in 2F0.
#pragma once

#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/program/instruction.hpp>

#include <string>

namespace ashlar {

// F, I (input), W (weight) and B (fused backward) are PyTorch's; R (recompute) and X (work: 3X0 is part
// 0 of job 3) are ours.
constexpr char letter_of(pass_kind kind) {
  switch (kind) {
    case pass_kind::forward:
      return 'F';
    case pass_kind::recompute:
      return 'R';
    case pass_kind::backward:
      return 'B';
    case pass_kind::backward_input:
      return 'I';
    case pass_kind::backward_weight:
      return 'W';
    case pass_kind::work:
      break;
  }
  return 'X';
}

// The name of a kind of pass, of value, of instruction.
constexpr char const* name_of(pass_kind kind) {
  switch (kind) {
    case pass_kind::forward:
      return "forward";
    case pass_kind::recompute:
      return "recompute";
    case pass_kind::backward:
      return "backward";
    case pass_kind::backward_input:
      return "backward input";
    case pass_kind::backward_weight:
      return "backward weight";
    case pass_kind::work:
      break;
  }
  return "work";
}

constexpr char const* name_of(slot_kind kind) {
  switch (kind) {
    case slot_kind::activation:
      return "activation";
    case slot_kind::gradient:
      return "gradient";
    case slot_kind::checkpoint:
      return "checkpoint";
    case slot_kind::stash:
      return "stash";
    case slot_kind::weight_stash:
      return "weight stash";
    case slot_kind::sequence_state:
      return "sequence state";
    case slot_kind::sequence_gradient:
      return "sequence gradient";
    case slot_kind::weight:
      return "weight";
    case slot_kind::gradient_shard:
      return "gradient shard";
    case slot_kind::scalar:
      return "scalar";
    case slot_kind::work:
      return "work";
    case slot_kind::work_state:
      return "work state";
    case slot_kind::micro_gradient:
      return "micro-batch's gradient";
    case slot_kind::host_checkpoint:
      return "checkpoint on the host";
    case slot_kind::host_stash:
      return "stash on the host";
    case slot_kind::weight_gradient:
      break;
  }
  return "weight gradient";
}

// `2F5`: stage, letter of the kind, micro-batch.
inline std::string to_string(pass what) {
  return std::to_string(what.stage) + letter_of(what.kind) + std::to_string(what.micro_batch);
}

// The action of an instruction, without its object.
constexpr char const* name_of(opcode code) {
  switch (code) {
    case opcode::compute:
      return "compute";
    case opcode::send:
      return "send";
    case opcode::receive:
      return "receive";
    case opcode::all_reduce:
      return "all-reduce";
    case opcode::all_gather:
      return "all-gather";
    case opcode::release:
      return "release";
    case opcode::reduce_scatter:
      return "reduce-scatter";
    case opcode::clear:
      return "clear";
    case opcode::measure:
      return "measure";
    case opcode::offload:
      return "offload";
    case opcode::reload:
      return "reload";
    case opcode::optimize:
      break;
  }
  return "optimize";
}

// A line of a listing: `2F0`, `send 2F0 to device 3`, `receive 1F0 from device 1`, `all-reduce stage 2`,
// `all-reduce the gradients' norm`, `all-reduce 3X0`, `offload 2F0`.
inline std::string to_string(instruction const& i) {
  if (i.code == opcode::compute) return to_string(i.what);
  std::string const name = name_of(i.code);
  if (i.code == opcode::send)
    return name + " " + to_string(i.what) + " to device " + std::to_string(i.peer);
  if (i.code == opcode::receive)
    return name + " " + to_string(i.what) + " from device " + std::to_string(i.peer);
  if (sums_work(i) || copies_to_or_from_host(i)) return name + " " + to_string(i.what);
  if (i.subject == slot_kind::scalar) return name + " the gradients' norm";
  if (i.code == opcode::clear && i.subject == slot_kind::work_state)
    return name + " the state of job " + std::to_string(part_of(i.what).job);
  std::string const shared =
      i.group > i.what.stage ? " (parameters of group " + std::to_string(i.group) + ")" : "";
  return name + " stage " + std::to_string(i.what.stage) + shared;
}

// The state that data-parallel ranks keep in shards.
constexpr char const* name_of(sharding_level level) {
  switch (level) {
    case sharding_level::none:
      return "none";
    case sharding_level::optimizer:
      return "optimizer";
    case sharding_level::gradients:
      return "gradients";
    case sharding_level::weights:
      return "weights";
    case sharding_level::full:
      break;
  }
  return "full";
}

}  // namespace ashlar

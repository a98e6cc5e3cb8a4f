// Programs put wrong on purpose. Standard library only, so that it works while compiling.
#pragma once

#include <ashlar/program/program.hpp>

#include <cstddef>
#include <utility>

namespace mutate {

using namespace ashlar;

// Instruction `index` of a device's stream.
constexpr instruction& at(program& p, int device, int index) {
  int const begin = p.stream_begin[static_cast<std::size_t>(device)];
  return p.instructions[static_cast<std::size_t>(begin + index)];
}

constexpr int length(program const& p, int device) {
  auto const d = static_cast<std::size_t>(device);
  return p.stream_begin[d + 1] - p.stream_begin[d];
}

// The position of an instruction in its device's stream, -1 if there is none.
constexpr int find(program const& p, int device, opcode code, pass what) {
  int const begin = p.stream_begin[static_cast<std::size_t>(device)];
  for (int i = 0; i < length(p, device); ++i) {
    instruction const& self = p.instructions[static_cast<std::size_t>(begin + i)];
    if (self.code == code && self.what == what) return i;
  }
  return -1;
}

// The first reduction of a stage on the device.
constexpr int find_reduction(program& p, int device, int stage) {
  for (int i = 0; i < length(p, device); ++i)
    if (at(p, device, i).code == opcode::all_reduce && at(p, device, i).what.stage == stage) return i;
  return -1;
}

constexpr void insert(program& p, int device, int index, instruction i) {
  int const begin = p.stream_begin[static_cast<std::size_t>(device)];
  p.instructions.insert(p.instructions.begin() + begin + index, i);
  for (auto d = static_cast<std::size_t>(device) + 1; d < p.stream_begin.size(); ++d)
    ++p.stream_begin[d];
}

constexpr instruction drop(program& p, int device, int index) {
  instruction const dropped = at(p, device, index);
  int const begin = p.stream_begin[static_cast<std::size_t>(device)];
  p.instructions.erase(p.instructions.begin() + begin + index);
  for (auto d = static_cast<std::size_t>(device) + 1; d < p.stream_begin.size(); ++d)
    --p.stream_begin[d];
  return dropped;
}

// Takes an instruction out and puts it in at position `to` of what is left.
constexpr void move(program& p, int device, int from, int to) {
  insert(p, device, to, drop(p, device, from));
}

constexpr void exchange(program& p, int device, int i, int j) {
  std::swap(at(p, device, i), at(p, device, j));
}

// Operand `which` of an instruction.
constexpr operand& operand_of(program& p, int device, int index, int which) {
  return p.operands[static_cast<std::size_t>(at(p, device, index).first_operand + which)];
}

}  // namespace mutate

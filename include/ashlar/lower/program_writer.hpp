// A program being written: instruction after instruction, stream after stream.
#pragma once

#include <ashlar/program/program.hpp>

#include <utility>
#include <vector>

namespace ashlar {

class program_writer {
 public:
  constexpr explicit program_writer(program start) : made_(std::move(start)) {}

  constexpr void reserve(std::size_t instructions, std::size_t operands) {
    made_.instructions.reserve(instructions);
    made_.operands.reserve(operands);
  }

  // What is begun gets the operands that are used after it.
  constexpr void begin(instruction i) {
    i.first_operand = static_cast<int>(made_.operands.size());
    made_.instructions.push_back(i);
  }
  constexpr void use(int slot, access how) {
    made_.operands.push_back({slot, how});
    ++made_.instructions.back().operand_count;
  }
  constexpr void end_stream(std::vector<slot_kind> const& slots) {
    made_.stream_begin.push_back(static_cast<int>(made_.instructions.size()));
    made_.slots.insert(made_.slots.end(), slots.begin(), slots.end());
    made_.slot_begin.push_back(static_cast<int>(made_.slots.size()));
  }

  // What has been written so far.
  constexpr program& made() { return made_; }

 private:
  program made_;
};

}  // namespace ashlar

// The program that a compute_comms CSV describes. The file names no buffers, so each value has a slot of
// its own, and instructions wait only for the values that they need.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/program/operands.hpp>

#include <vector>

namespace ashlar {

// The program, and the token of each instruction.
struct csv_streams {
  program value;
  std::vector<std::vector<int>> token_of;  // by device and instruction; -1: the file has none for it
};

// Writes the streams of a file with valid names, in the order of its lines, correct or not. Waits are no
// instructions. A file with UNSHARD or RESHARD keeps weights and gradients sharded, over the fewest
// ranks possible. Gradients are cleared at the beginning of each line. A dialect without reductions gets
// them at the end of each line.
class csv_program_writer {
 public:
  // Refers to the tokens.
  csv_program_writer(csv_tokens const& tokens, placement where, transfer_lanes lanes);
  csv_program_writer(csv_program_writer const&) = delete;  // the shape refers to the program
  csv_program_writer& operator=(csv_program_writer const&) = delete;

  csv_streams run();

 private:
  struct slot {
    int device = -1;  // the last device that used the value
    int number = 0;   // its slot there
  };

  static program program_for(csv_tokens const& tokens, placement where, transfer_lanes lanes);

  void write_token(csv_token const& t);

  void transfer(csv_token const& t);

  void reduce(int stage) {
    if (shape_.is_sharded()) share(opcode::reduce_scatter, slot_kind::weight_gradient, stage);
    share(opcode::all_reduce, made_.view().gradient_kind(stage), stage);
  }

  // Writes an operation on the weights or the gradient of a stage.
  void share(opcode code, slot_kind subject, int stage);

  void write(instruction i);

  // One entry serves all devices, because their streams are written one after the other.
  int slot_of(value_key const& v);

  csv_tokens const& tokens_;
  program made_;
  program_shape shape_;
  std::vector<slot> slots_;  // by micro-batch (first those of the step), then stage and kind
  int device_ = 0;
  int token_ = -1;                        // the token being written
  std::vector<int>* token_of_ = nullptr;  // token_of the device
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_program.ipp>
#endif

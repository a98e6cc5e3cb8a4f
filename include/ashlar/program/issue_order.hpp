// One order of all instructions of a program that keeps every lane's order and every wait. It is the
// order in which the machine of the deadlock proof reaches the end.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/program/lane_machine.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// All instructions of a program, in an order in which they can be issued. Instructions that happen
// together stand next to each other: a pass or an overlapped pair, a send and its receive (the send
// first), the members of a collective between devices. A collective between data-parallel ranks counts
// as an instruction of each rank by itself.
struct rendezvous_list {
  std::vector<int> instructions;  // indices into program_view::instructions
  std::vector<int> begin = {0};   // by rendezvous, and the end

  constexpr int size() const { return static_cast<int>(begin.size()) - 1; }
  // The instructions that happen together, by index into the program.
  constexpr list_view<int> of(int rendezvous) const {
    auto const at = static_cast<std::size_t>(rendezvous);
    return {instructions.data() + begin[at], instructions.data() + begin[at + 1]};
  }
};

// Notes the order of instructions.
class issuing_machine : public lane_machine<issuing_machine> {
 public:
  // Walks the program and notes what happens together. Refers to its memory.
  constexpr explicit issuing_machine(program_view const& p)
      : lane_machine(p, partners_in_order(p), p.lane_count) {
    all_.instructions.reserve(p.instructions.size());
  }

  // Called by the walk for each rendezvous.
  constexpr void happens(int, list_view<int> together) {
    for (int i : together) all_.instructions.push_back(i);
    all_.begin.push_back(static_cast<int>(all_.instructions.size()));
  }
  constexpr rendezvous_list take() { return std::move(all_); }

 private:
  rendezvous_list all_;
};

// The k-th send from one device to another matches the k-th receive. If the program can deadlock, throws
// violation{rule::no_cycle_of_waits} with an instruction that never runs and what it waits for. Linear
// in instructions and waits.
constexpr rendezvous_list rendezvous_order(program_view const& p) {
  issuing_machine machine(p);
  if (!machine.run()) refuse(machine.wait());
  return machine.take();
}

// The order alone, without the ends of the rendezvous. It can be issued by one thread, and captured.
constexpr std::vector<int> issue_order(program_view const& p) {
  return rendezvous_order(p).instructions;
}

}  // namespace ashlar

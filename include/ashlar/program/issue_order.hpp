// One order of all instructions of a program that keeps every lane's order and every wait. It is the
// order in which the machine of the deadlock proof reaches the end.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/program/lane_machine.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Instructions of a program in an order in which all can be issued, those that happen together next to
// each other: a pass or an overlapped pair, a send and its receive (the send first), the members of a
// collective between devices. What data-parallel ranks do together each does as an instruction of its
// own.
struct rendezvous_list {
  std::vector<int> instructions;  // indices into program_view::instructions
  std::vector<int> begin = {0};   // by rendezvous, and the end

  constexpr int size() const { return static_cast<int>(begin.size()) - 1; }
  constexpr list_view<int> of(int rendezvous) const {
    auto const at = static_cast<std::size_t>(rendezvous);
    return {instructions.data() + begin[at], instructions.data() + begin[at + 1]};
  }
};

// Notes what happens.
class issuing_machine : public lane_machine<issuing_machine> {
 public:
  constexpr explicit issuing_machine(program_view const& p)
      : lane_machine(p, partners_in_order(p), p.lane_count) {
    all_.instructions.reserve(p.instructions.size());
  }

  constexpr void happens(int, list_view<int> together) {
    for (int i : together) all_.instructions.push_back(i);
    all_.begin.push_back(static_cast<int>(all_.instructions.size()));
  }
  constexpr rendezvous_list take() { return std::move(all_); }

 private:
  rendezvous_list all_;
};

// Throws violation, rule::no_cycle_of_waits, with an instruction that never runs and what it waits for,
// if the program is not free of deadlock. Of transfers between two devices the k-th send and the k-th
// receive match. Linear in instructions and waits.
constexpr rendezvous_list rendezvous_order(program_view const& p) {
  issuing_machine machine(p);
  if (!machine.run()) refuse(machine.wait());
  return machine.take();
}

// The same without saying where a rendezvous ends. Whoever issues in this order can do so from one
// thread, and capture what is issued.
constexpr std::vector<int> issue_order(program_view const& p) {
  return rendezvous_order(p).instructions;
}

}  // namespace ashlar

// One order of all instructions of a program that keeps every lane's order and every wait: the one in
// which the machine of the deadlock proof reaches the end.
#pragma once

#include <ashlar/program/lane_machine.hpp>

#include <utility>
#include <vector>

namespace ashlar {

// Notes what happens.
class issuing_machine : public lane_machine<issuing_machine> {
 public:
  constexpr explicit issuing_machine(program_view const& p)
      : lane_machine(p, partners_in_order(p), p.lane_count) {
    order_.reserve(p.instructions.size());
  }

  constexpr void happens(int, list_view<int> together) {
    for (int i : together) order_.push_back(i);
  }
  constexpr std::vector<int> take() { return std::move(order_); }

 private:
  std::vector<int> order_;
};

// Indices into p.instructions. Matching sends and receives are adjacent, the send first, and so are the
// members of a collective between devices. Whoever issues in this order can do so from one thread, and
// capture what is issued. Throws violation, rule::no_cycle_of_waits, with an instruction that never runs
// and what it waits for, if the program is not free of deadlock. Of transfers between two devices the
// k-th send and the k-th receive match. Linear in instructions and waits.
constexpr std::vector<int> issue_order(program_view const& p) {
  issuing_machine machine(p);
  if (!machine.run()) throw violation{machine.wait()};
  return machine.take();
}

}  // namespace ashlar

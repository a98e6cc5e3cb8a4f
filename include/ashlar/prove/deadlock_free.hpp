// Level "deadlock-free under rendezvous": all lanes reach their end, although a send lasts until its
// receive has come.
#pragma once

#include <ashlar/program/lane_machine.hpp>
#include <ashlar/prove/messages.hpp>

namespace ashlar {

// Asks no more than whether the end is reached.
class rendezvous_machine : public lane_machine<rendezvous_machine> {
 public:
  using lane_machine::lane_machine;
};

// Checks a complete program; `index` holds both halves of every transfer. If it gets stuck, names two
// neighbours of a cycle of waits and its length. Linear in instructions and waits.
constexpr diagnosis check_deadlock_free(program const& p, message_index const& index) {
  rendezvous_machine machine(p.view(), index.partners(), p.view().lane_count);
  return machine.run() ? diagnosis{} : machine.diagnose_cycle(rule::no_cycle_of_waits);
}

}  // namespace ashlar

// Why a program gets stuck: all instructions of a cycle of waits.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/prove/complete.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/well_formed.hpp>

#include <vector>

namespace ashlar {

// The instructions of one cycle, each waiting for the next, in a program that is complete but not
// deadlock-free. Empty for a program that has none.
constexpr std::vector<site> find_wait_cycle(program const& p) {
  if (!check_well_formed(p).ok()) return {};
  message_index index(p);
  if (!check_complete(p, index).ok()) return {};
  rendezvous_machine machine(p.view(), index.partners(), p.view().lane_count);
  if (machine.run()) return {};
  dynamic_array<site> const cycle = machine.cycle();
  return {cycle.begin(), cycle.end()};
}

}  // namespace ashlar

// The proofs of a program, level by level; each level presupposes the ones before.
#pragma once

#include <ashlar/prove/complete.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/memory_safe.hpp>
#include <ashlar/prove/ordered.hpp>
#include <ashlar/prove/well_formed.hpp>

#include <vector>

namespace ashlar {

// The first broken rule of the first broken level: complete, ordered, deadlock-free under rendezvous,
// memory-safe. Linear in instructions and operands.
constexpr diagnosis check(program const& p) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) return d;
  message_index index(p);
  if (diagnosis const d = check_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = check_ordered(p, index); !d.ok()) return d;
  if (diagnosis const d = check_deadlock_free(p, index); !d.ok()) return d;
  return check_memory_safe(p);
}

// For a program that is complete but not deadlock-free: the instructions of one circle, each waiting for
// the next. Empty for a program that has none.
constexpr std::vector<site> find_wait_cycle(program const& p) {
  if (!check_well_formed(p).ok()) return {};
  message_index index(p);
  if (!check_complete(p, index).ok()) return {};
  rendezvous_machine machine(p, index);
  if (machine.run().ok()) return {};
  return machine.cycle();
}

}  // namespace ashlar

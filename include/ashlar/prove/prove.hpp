// The proofs of a program, level by level; each level presupposes the ones before.
#pragma once

#include <ashlar/program/slot_sizes.hpp>
#include <ashlar/prove/complete.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/memory_safe.hpp>
#include <ashlar/prove/ordered.hpp>
#include <ashlar/prove/well_formed.hpp>

#include <cstdint>
#include <limits>

namespace ashlar {

// The first broken rule of the first broken level: complete, ordered, deadlock-free under rendezvous,
// memory-safe. Linear in instructions, operands and holders of groups, in devices times jobs of work,
// and in devices times groups where a norm is measured.
constexpr diagnosis check(program const& p) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) return d;
  message_index index(p);
  if (diagnosis const d = check_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = check_ordered(p, index); !d.ok()) return d;
  if (diagnosis const d = check_deadlock_free(p, index); !d.ok()) return d;
  return check_memory_safe(p);
}

// Checks bytes(value_key) of each slot, at the largest value that it ever holds, against a budget per
// device. Runs check first. `number` of the diagnosis is the bytes needed on `first.device`.
template <class Bytes>
constexpr diagnosis check_memory_budget(program const& p, Bytes bytes, std::int64_t budget) {
  if (diagnosis const d = check(p); !d.ok()) return d;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (int d = 0; d < p.device_count(); ++d) {
    std::int64_t sum = 0;
    for (std::int64_t s : slot_sizes(p.view(), d, bytes)) sum = s > most - sum ? most : sum + s;
    if (sum > budget)
      return {.broken = rule::memory_is_within_budget, .first = {.device = d}, .number = sum};
  }
  return {};
}

}  // namespace ashlar

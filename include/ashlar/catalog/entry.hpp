// One published schedule: what it is, how it is built, which shapes it is for.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <initializer_list>

namespace ashlar::catalog {

struct entry {
  char const* name;
  char const* summary;
  char const* source;
  // The building block, in units of one pass; null where the schedule is not the squeeze of a repeated
  // block.
  block (*block_of)(shape const&) = nullptr;
  // The schedule, where block_of is null or needs more than repeat(m); in any costs.
  schedule (*schedule_of)(shape const&) = nullptr;
  // Whether there is such a schedule: rule::parameter_... of the first parameter out of bounds.
  diagnosis (*check)(shape const&) = check_shape;
  unsigned parameters = 0;  // which it looks at besides devices and micro-batches: see uses()

  constexpr bool uses(parameter which) const {
    return (parameters >> static_cast<unsigned>(which) & 1U) != 0;
  }

  // The schedule squeezed under the shape's costs. Throws violation{check(s)}, and as retime does.
  constexpr schedule make(shape const& s) const {
    if (diagnosis const d = check(s); !d.ok()) throw violation{d};
    if (schedule_of != nullptr) return retime(schedule_of(s), s.cost);
    return retime(repeat(block_of(s), s.m), s.cost);
  }
};

// For entry::parameters.
constexpr unsigned parameters_of(std::initializer_list<parameter> all) {
  unsigned bits = 0;
  for (parameter which : all) bits |= 1U << static_cast<unsigned>(which);
  return bits;
}

}  // namespace ashlar::catalog

// One published schedule: what it is, how it is built, which shapes it is for.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <initializer_list>
#include <utility>

namespace ashlar::catalog {

// A published schedule: its name, its source and how it is made. make() gives the schedule.
struct entry {
  char const* name;
  char const* summary;
  char const* source;
  // The building block, in units of one pass; null where none is repeated.
  block (*block_of)(shape const&) = nullptr;
  // The schedule, timed, where it is more than block_of repeated m times and squeezed; in the shape's
  // costs or in units of one pass.
  schedule (*schedule_of)(shape const&) = nullptr;
  // Whether there is such a schedule: rule::parameter_... of the first parameter out of bounds.
  diagnosis (*check)(shape const&) = check_shape;
  placement_kind placed = placement_kind::linear;  // where its stages are
  bool is_searched = false;  // the best that a search finds, which takes up to a second
  unsigned parameters = 0;   // which it looks at besides devices and micro-batches: see uses()

  // Whether the schedule depends on this field of the shape.
  constexpr bool uses(parameter which) const {
    return (parameters >> static_cast<unsigned>(which) & 1U) != 0;
  }

  // The schedule under the shape's costs. Throws violation{check(s)}, and as retime does.
  constexpr schedule make(shape const& s) const {
    must_be(check(s));
    if (schedule_of == nullptr) return retime(repeat(block_of(s), s.m), s.cost);
    schedule made = schedule_of(s);
    if (made.cost == s.cost) return made;
    return retime(std::move(made), s.cost);
  }
};

// Makes entry::parameters.
constexpr unsigned parameters_of(std::initializer_list<parameter> all) {
  unsigned bits = 0;
  for (parameter which : all) bits |= 1U << static_cast<unsigned>(which);
  return bits;
}

}  // namespace ashlar::catalog

// The catalog by placement, so that a file of test/static looks at a part of it. Every entry is of one
// family, whatever is added.
#pragma once

#include <ashlar/catalog/entries.hpp>

#include <cstddef>
#include <utility>

enum class family { one_stage_a_device, looped, folded, two_ways };

template <std::size_t Entry>
constexpr ashlar::schedule made_for(ashlar::devices p, ashlar::micro_batches m) {
  ashlar::catalog::entry const entry =
      ashlar::catalog::entries[Entry];  // a copy: nvcc 13 cannot evaluate it in place
  return entry.make({.p = p, .m = m});
}

// Of a small shape that every entry is for: where its block is, or what it makes without one.
template <std::size_t Entry>
constexpr ashlar::placement placement_of() {
  ashlar::catalog::entry const entry = ashlar::catalog::entries[Entry];  // a copy, as above
  ashlar::catalog::shape small{.p = ashlar::devices{2}, .m = ashlar::micro_batches{4}};
  if (entry.block_of != nullptr) return entry.block_of(small).where;
  return entry.make(small).where;
}

// `folded`: the stage that follows on the last device's first is on that device, as in a V.
template <std::size_t Entry>
constexpr family family_of = [] {
  ashlar::placement const where = placement_of<Entry>();
  int const p = where.device_count();
  if (where.route_count() > 1) return family::two_ways;
  if (where.stage_count() == p || p == 1) return family::one_stage_a_device;
  return where.device_of(0, p) == where.device_of(0, p - 1) ? family::folded : family::looped;
}();

// Whether `Holds<Entry>::value` for every entry of the family, and there is one.
template <family Family, template <std::size_t> class Holds, std::size_t... Entry>
constexpr bool holds_for_each_of(std::index_sequence<Entry...>) {
  auto const holds = []<std::size_t Each>() {
    if constexpr (family_of<Each> == Family)
      return Holds<Each>::value;
    else
      return true;
  };
  return (... || (family_of<Entry> == Family)) && (... && holds.template operator()<Entry>());
}
template <family Family, template <std::size_t> class Holds>
constexpr bool holds_for_each =
    holds_for_each_of<Family, Holds>(std::make_index_sequence<ashlar::catalog::entries.size()>());

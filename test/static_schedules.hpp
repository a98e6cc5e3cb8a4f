// A published schedule at 8 devices and 32 micro-batches: the block, and the schedule repeated and
// squeezed.
#pragma once

#include "families.hpp"
#include <ashlar/check/valid.hpp>

template <std::size_t Entry>
constexpr ashlar::block block_of() {
  ashlar::catalog::entry const entry =
      ashlar::catalog::entries[Entry];  // a copy: nvcc 13 cannot evaluate it in place
  return entry.block_of({.p = ashlar::devices{8}, .m = ashlar::micro_batches{32}});
}

template <std::size_t Entry>
constexpr ashlar::schedule schedule_of() {
  return made_for<Entry>(ashlar::devices{8}, ashlar::micro_batches{32});
}

// These are members of a template, so that the limits on constant evaluation are for each entry alone.
template <std::size_t Entry>
struct is_block_valid {
  static constexpr bool value = [] {
    if constexpr (ashlar::catalog::entries[Entry].block_of != nullptr)
      return ashlar::valid<block_of<Entry>>();
    else
      return true;
  }();
};
template <std::size_t Entry>
struct is_schedule_valid {
  static constexpr bool value = ashlar::valid<schedule_of<Entry>>();
};

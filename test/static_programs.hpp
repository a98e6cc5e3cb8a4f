// A published schedule at 4 devices and 8 micro-batches, as a program.
#pragma once

#include "families.hpp"
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

template <std::size_t Entry, ashlar::transfer_lanes Lanes = ashlar::transfer_lanes::one>
constexpr ashlar::program program_of() {
  return made_for<Entry>(ashlar::devices{4}, ashlar::micro_batches{8})
         | ashlar::lower(ashlar::lower_options{.lanes = Lanes});
}

// A member of a template, so that the limits on constant evaluation are for each entry alone.
template <std::size_t Entry>
struct is_program_valid {
  static constexpr bool value = ashlar::valid<program_of<Entry>>();
};

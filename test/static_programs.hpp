// A published schedule as a program, at 4 devices and 8 micro-batches unless another shape is given.
#pragma once

#include "families.hpp"
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

template <std::size_t Entry, int Devices = 4, int MicroBatches = 8>
constexpr ashlar::program program_of() {
  return made_for<Entry>(ashlar::devices{Devices}, ashlar::micro_batches{MicroBatches})
         | ashlar::lower();
}

// This is a member of a template, so that the limits on constant evaluation are for each entry alone.
template <std::size_t Entry>
struct is_program_valid {
  static constexpr bool value = ashlar::valid<program_of<Entry>>();
};

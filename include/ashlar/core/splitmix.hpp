// The mixing step of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <ashlar/core/language.hpp>

#include <cstdint>

namespace ashlar {

// The number that splitmix64 adds to its state each time: 2^64 divided by the golden ratio.
inline constexpr std::uint64_t splitmix_step = 0x9e3779b97f4a7c15U;

// A bijection whose every bit depends on all bits of the state. With the seed s, splitmix64's n-th
// number is mixed(s + n * splitmix_step).
constexpr std::uint64_t mixed(std::uint64_t state) {
  state = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9U;
  state = (state ^ (state >> 27U)) * 0x94d049bb133111ebU;
  return state ^ (state >> 31U);
}

}  // namespace ashlar

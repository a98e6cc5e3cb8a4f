// A hint about memory that is needed soon.
#pragma once

#include <ashlar/core/language.hpp>

#include <type_traits>

namespace ashlar {

// Whether a hint can help: not in constant evaluation, where finding the place takes steps.
constexpr bool can_prefetch() { return !std::is_constant_evaluated(); }

// Helps walks that jump about in tables larger than the caches, where they would wait at every step.
// Does nothing in constant evaluation, or with compilers that have no such hint.
template <class T>
constexpr void prefetch([[maybe_unused]] T const* place) {
#if defined(__GNUC__)
  if (can_prefetch()) __builtin_prefetch(place);
#endif
}

}  // namespace ashlar

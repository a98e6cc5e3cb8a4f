// Which of the changes in a program is on: the number in the environment variable ASHLAR_MUTANT, or
// none.
#pragma once

#include <cstdlib>
#include <type_traits>

namespace ashlar_mutation {

inline int on = 0;

// Comes before the initialisation of all other variables.
[[gnu::constructor(101)]] inline void read_switch() {
  if (char const* const text = std::getenv("ASHLAR_MUTANT")) on = std::atoi(text);
}

// Whether a change is on; in constant evaluation none is.
constexpr bool is(int change) { return !std::is_constant_evaluated() && on == change; }

}  // namespace ashlar_mutation

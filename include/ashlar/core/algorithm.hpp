// The little that the core needs of <algorithm>, which takes as long to include as <vector>.
#pragma once

#include <vector>

namespace ashlar {

template <class Number>
constexpr Number min_of(Number a, Number b) {
  return b < a ? b : a;
}
template <class Number>
constexpr Number max_of(Number a, Number b) {
  return a < b ? b : a;
}

constexpr bool contains(std::vector<int> const& list, int value) {
  for (int each : list)
    if (each == value) return true;
  return false;
}

}  // namespace ashlar

// The little that the core needs from <algorithm>, which takes as long to include as <vector>. Also the
// parts of <vector> that are expensive to instantiate: insert(), assign() and resize() with a value.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>
#include <utility>
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

// Takes numbers that are not negative; for 0 and n it is n.
template <class Number>
constexpr Number greatest_common_divisor(Number a, Number b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

constexpr bool contains(std::vector<int> const& list, int value) {
  for (int each : list)
    if (each == value) return true;
  return false;
}

template <class Value, class List>
constexpr void append(std::vector<Value>& list, List const& more) {
  for (Value const& each : more) list.push_back(each);
}

template <class Entry>
constexpr void reverse(std::vector<Entry>& list) {
  std::size_t const n = list.size();
  for (std::size_t i = 0; i < n / 2; ++i) std::swap(list[i], list[n - 1 - i]);
}

}  // namespace ashlar

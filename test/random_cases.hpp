// How many of many random cases to run. A sanitizer judges the code, which the first cases run through;
// all of them, and what they come to, are for the tests without one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

constexpr int random_cases(int all) {
#if defined(ASHLAR_SANITIZED)
  return all / 4;
#else
  return all;
#endif
}

// Of cases that are counted: whether this one is run.
constexpr bool is_run([[maybe_unused]] int number) {
#if defined(ASHLAR_SANITIZED)
  return number % 4 == 0;
#else
  return true;
#endif
}

// The same of a list: under a sanitizer each seventh.
template <class T>
std::vector<T> listed_cases(std::vector<T> all) {
#if defined(ASHLAR_SANITIZED)
  std::vector<T> some;
  std::size_t const step = all.size() < 60 ? 3 : 7;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(std::move(all[i]));
  return some;
#else
  return all;
#endif
}

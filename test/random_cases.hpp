// The number of random cases to run. A sanitizer judges the code, which the first cases run through; all
// of them, and their results, are for the tests without one.
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

// The number to run of cases that take minutes together: all of them with ASHLAR_ALL_TESTS alone.
constexpr int long_cases(int all) {
#if defined(ASHLAR_ALL_CASES)
  return random_cases(all);
#else
  return random_cases(all) / 4;
#endif
}

// Takes some every day, very many with ASHLAR_ALL_TESTS.
constexpr int many_cases([[maybe_unused]] int some, [[maybe_unused]] int all) {
#if defined(ASHLAR_ALL_CASES)
  return random_cases(all);
#else
  return random_cases(some);
#endif
}

// The number of times that a test goes through its cases if it shares its variants out among them: with
// ASHLAR_ALL_TESTS each case has all `variants`, every day one.
constexpr int turns([[maybe_unused]] int variants) {
#if defined(ASHLAR_ALL_CASES) && !defined(ASHLAR_SANITIZED)
  return variants;
#else
  return 1;
#endif
}

// Whether the case with this number is run.
constexpr bool is_run([[maybe_unused]] int number) {
#if defined(ASHLAR_SANITIZED)
  return number % 4 == 0;
#else
  return true;
#endif
}

constexpr bool is_long_case_run([[maybe_unused]] int number) {
#if defined(ASHLAR_ALL_CASES)
  return is_run(number);
#else
  return number % 4 == 0;
#endif
}

// The cases of a list to run: under a sanitizer each seventh.
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

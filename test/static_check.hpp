// Tests that are constexpr functions: they hold while compiling and once more at run time.
#pragma once

#include <ashlar/core/diagnosis.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace static_check {

inline void report(char const* file, int line, char const* what) { ADD_FAIL_CHECK_AT(file, line, what); }

// The rule that `call` says is broken, by throwing a violation.
template <class Call>
ashlar::rule broken_by(Call call) {
  try {
    call();
  } catch (ashlar::violation const& v) {
    return v.why.broken;
  }
  return ashlar::rule::none;
}

}  // namespace static_check

// In a `constexpr bool test_x()`: ends it, naming the line when at run time, unless the condition holds.
#define HOLDS(...)                                                           \
  do {                                                                       \
    if (!(__VA_ARGS__)) {                                                    \
      if (!std::is_constant_evaluated())                                     \
        static_check::report(__FILE__, __LINE__, "HOLDS(" #__VA_ARGS__ ")"); \
      return false;                                                          \
    }                                                                        \
  } while (false)

// A case that is both compiled and run.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// g++'s sanitizers have no say while compiling, but make it slow.
#define BOTH_TIMES(name, function) \
  TEST_CASE(name) { CHECK(function()); }
#else
#define BOTH_TIMES(name, function) \
  static_assert(function());       \
  TEST_CASE(name) { CHECK(function()); }
#endif

// That an expression throws a violation of the rule (only its name is written).
#define CHECK_BREAKS(name, ...) \
  CHECK(static_check::broken_by([&] { (void)(__VA_ARGS__); }) == ashlar::rule::name)

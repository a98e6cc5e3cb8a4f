// Tests of functions that throw violations.
#pragma once

#include <ashlar/core/diagnosis.hpp>

#include <doctest/doctest.h>

namespace violations {

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

}  // namespace violations

// Checks that an expression throws a violation of the rule (only its name is written).
#define CHECK_BREAKS(name, ...) \
  CHECK(violations::broken_by([&] { (void)(__VA_ARGS__); }) == ashlar::rule::name)

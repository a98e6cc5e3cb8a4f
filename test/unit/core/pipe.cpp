#include <ashlar/core/pipe.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <concepts>

using namespace ashlar;

namespace {

constexpr auto plus(int n) {
  return closure([=](int value) { return value + n; });
}
constexpr auto half() {
  return closure([](int value) { return value / 2.0; });
}

template <class Value, class Operation>
concept takes = requires(Value v, Operation o) {
  v | o;
};

static_assert(takes<int, decltype(plus(1))>);
static_assert(!takes<char const*, decltype(plus(1))>);  // refused where it is written, not inside

constexpr bool test_pipe() {
  HOLDS((1 | plus(2)) == 3);
  HOLDS((1 | plus(2) | half()) == 1.5);
  auto const later = plus(10);  // an operation is a value
  HOLDS((5 | later) == 15 && (6 | later) == 16);
  return true;
}
BOTH_TIMES("values flow through operations", test_pipe)

}  // namespace

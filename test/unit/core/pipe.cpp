#include <ashlar/core/pipe.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <concepts>
#include <utility>

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

TEST_CASE("values flow through operations") {
  CHECK((1 | plus(2)) == 3);
  CHECK((1 | plus(2) | half()) == 1.5);
  auto const later = plus(10);  // an operation is a value
  CHECK(((5 | later) == 15 && (6 | later) == 16));
}

static_assert(takes<int, decltype(plus(1) | half())>);
static_assert(!takes<char const*, decltype(plus(1) | half())>);

TEST_CASE("operations compose to operations") {
  auto const both = plus(2) | half();
  CHECK(((1 | both) == 1.5 && (1 | both) == (1 | plus(2) | half())));
  CHECK(((1 | (plus(4) | both)) == 3.5 && (1 | ((plus(4) | plus(2)) | half())) == 3.5));
  int const n = 7;
  CHECK((n | both) == 4.5);
}

// Counts how often it was copied.
struct parcel {
  int copies = 0, steps = 0;

  constexpr parcel() = default;
  constexpr parcel(parcel const& other) : copies(other.copies + 1), steps(other.steps) {}
  constexpr parcel(parcel&&) = default;
};
constexpr auto step() {
  return closure([](parcel p) {
    ++p.steps;
    return p;
  });
}

TEST_CASE("what nobody else needs is moved through") {
  parcel const through = parcel{} | step() | step() | step();
  CHECK((through.steps == 3 && through.copies == 0));
  parcel const composed = parcel{} | (step() | step());
  CHECK((composed.steps == 2 && composed.copies == 0));

  parcel kept;
  parcel const copied = kept | step() | step();
  CHECK((copied.steps == 2 && copied.copies == 1 && kept.steps == 0));
  parcel const moved = std::move(kept) | step();
  CHECK((moved.steps == 1 && moved.copies == 0));
}

}  // namespace

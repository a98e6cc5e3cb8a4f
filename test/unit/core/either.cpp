#include <ashlar/core/either.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

struct nothing {
  friend constexpr bool operator==(nothing const&, nothing const&) = default;
};
struct one_number {
  int value = 0;

  friend constexpr bool operator==(one_number const&, one_number const&) = default;
};
struct another_number {
  long long value = 0;

  friend constexpr bool operator==(another_number const&, another_number const&) = default;
};
using number_or_none = either<nothing, one_number, another_number>;

constexpr long long value_of(number_or_none const& n) {
  return n.visit([](nothing) { return -1LL; }, [](auto const& some) { return 0LL + some.value; });
}

TEST_CASE("one of several kinds: the first unless said otherwise") {
  number_or_none n;
  CHECK((n.index() == 0 && n.is<nothing>() && n == nothing{} && value_of(n) == -1));
  n = one_number{3};
  CHECK((n.index() == 1 && n.is<one_number>() && !n.is<nothing>() && value_of(n) == 3));
  n = another_number{1LL << 40};
  CHECK((n.index() == 2 && value_of(n) == 1LL << 40));
  number_or_none const copy = n;
  n = nothing{};
  CHECK((copy == another_number{1LL << 40} && n != copy));
}

TEST_CASE("one of several kinds: equal if of one kind and equal there") {
  CHECK(number_or_none(one_number{3}) == number_or_none(one_number{3}));
  CHECK(number_or_none(one_number{3}) != number_or_none(one_number{4}));
  CHECK(number_or_none(one_number{3}) != number_or_none(another_number{3}));
}

TEST_CASE("one of several kinds: a pointer to the value, or none") {
  number_or_none const n = one_number{3};
  REQUIRE(n.get_if<one_number>() != nullptr);
  CHECK(n.get_if<one_number>()->value == 3);
  CHECK((n.get_if<nothing>() == nullptr && n.get_if<another_number>() == nullptr));
}

// It is assigned while compiling.
static_assert([] {
  number_or_none n = one_number{1};
  n = another_number{2};
  n = one_number{5};
  return value_of(n);
}() == 5);

}  // namespace

#include <ashlar/core/function_ref.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

int doubled(int x) { return 2 * x; }
int called(function_ref<int(int)> f, int x) { return f(x); }

TEST_CASE("a function, or an object that is called, is referred to") {
  CHECK(called(doubled, 4) == 8);
  CHECK(called(&doubled, 4) == 8);
  int calls = 0;
  auto const count = [&](int x) { return calls += x; };
  function_ref<int(int)> const one = count, same = one;
  CHECK((one(2) == 2 && same(3) == 5 && calls == 5));
  auto changes = [last = 0](int x) mutable { return last += x; };
  function_ref<int(int)> const itself = changes;
  CHECK((itself(1) == 1 && itself(1) == 2 && changes(0) == 2));
}

}  // namespace

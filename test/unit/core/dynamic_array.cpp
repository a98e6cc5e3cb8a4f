#include <ashlar/core/dynamic_array.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <utility>

using namespace ashlar;

namespace {

// 0 .. n - 1, one at a time.
constexpr dynamic_array<int> count_to(int n) {
  dynamic_array<int> list;
  for (int i = 0; i < n; ++i) list.push_back(i);
  return list;
}

TEST_CASE("grows") {
  for (int n = 0; n < 40; ++n) {
    dynamic_array<int> list = count_to(n);
    CHECK((list.size() == static_cast<std::size_t>(n) && list.empty() == (n == 0)));
    int next = 0;
    for (int each : list) CHECK(each == next++);
    CHECK(next == n);
    if (n == 0) continue;
    CHECK((list.back() == n - 1 && list[0] == 0 && list.data() + n == list.end()));
    list.pop_back();
    CHECK((list == count_to(n - 1) && list != count_to(n)));
  }
  dynamic_array<int> roomy = count_to(3);
  roomy.reserve(100);
  int const* const place = roomy.data();
  for (int i = 3; i < 100; ++i) roomy.push_back(i);
  CHECK((roomy.data() == place && roomy == count_to(100)));
  roomy.cut(roomy.data() + 7);
  CHECK(roomy == count_to(7));
  roomy.clear();
  CHECK((roomy.empty() && roomy == dynamic_array<int>{}));
}

TEST_CASE("a value like any other") {
  dynamic_array<int> const sevens(3, 7), zeros(2);
  CHECK((sevens.size() == 3 && sevens[0] == 7 && sevens[1] == 7 && sevens[2] == 7));
  CHECK((zeros.size() == 2 && zeros[0] == 0 && zeros[1] == 0));
  dynamic_array<int> copy = sevens;
  copy[1] = 8;
  CHECK((sevens[1] == 7 && copy != sevens));
  copy = sevens;
  CHECK(copy == sevens);
  dynamic_array<int> moved = std::move(copy);
  CHECK(moved == sevens);
  moved = count_to(2);
  CHECK(moved == count_to(2));
  moved.swap(copy);
  CHECK((copy == count_to(2) && moved.empty()));
  dynamic_array<int> const& self = copy;
  copy = self;
  CHECK(copy == count_to(2));
}

}  // namespace

#include <ashlar/core/algorithm.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("the smaller and the larger of two, and the first of equal ones") {
  for (int a = -2; a <= 2; ++a)
    for (int b = -2; b <= 2; ++b) {
      CHECK(min_of(a, b) + max_of(a, b) == a + b);
      CHECK((min_of(a, b) <= a && min_of(a, b) <= b && max_of(a, b) >= a && max_of(a, b) >= b));
    }
}

TEST_CASE("the greatest common divisor divides both, and no larger number does") {
  for (int a = 0; a <= 30; ++a)
    for (int b = 1; b <= 30; ++b) {
      int most = 1;
      for (int d = 2; d <= 30; ++d)
        if (a % d == 0 && b % d == 0) most = d;
      CHECK(greatest_common_divisor(a, b) == most);
      CHECK(greatest_common_divisor(b, a) == most);
    }
  CHECK((greatest_common_divisor(0, 0) == 0 && greatest_common_divisor(7, 0) == 7));
}

TEST_CASE("lists: what they contain, one behind another, and backwards") {
  std::vector<int> list{3, 1, 4};
  CHECK((contains(list, 3) && contains(list, 4) && !contains(list, 2) && !contains({}, 0)));
  append(list, std::vector<int>{1, 5});
  CHECK(list == std::vector<int>{3, 1, 4, 1, 5});
  reverse(list);
  CHECK(list == std::vector<int>{5, 1, 4, 1, 3});
  list.pop_back();
  reverse(list);
  CHECK(list == std::vector<int>{1, 4, 1, 5});
  std::vector<int> none;
  reverse(none);
  append(none, none);
  CHECK(none.empty());
}

}  // namespace

#include <ashlar/core/dynamic_array.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <utility>

using namespace ashlar;

namespace {

// 0 .. n - 1, one at a time.
constexpr dynamic_array<int> count_to(int n) {
  dynamic_array<int> list;
  for (int i = 0; i < n; ++i) list.push_back(i);
  return list;
}

constexpr bool test_dynamic_array_growth() {
  for (int n = 0; n < 40; ++n) {
    dynamic_array<int> list = count_to(n);
    HOLDS(list.size() == static_cast<std::size_t>(n) && list.empty() == (n == 0));
    int next = 0;
    for (int each : list) HOLDS(each == next++);
    HOLDS(next == n);
    if (n == 0) continue;
    HOLDS(list.back() == n - 1 && list[0] == 0 && list.data() + n == list.end());
    list.pop_back();
    HOLDS(list == count_to(n - 1) && list != count_to(n));
  }
  dynamic_array<int> roomy = count_to(3);
  roomy.reserve(100);
  int const* const place = roomy.data();
  for (int i = 3; i < 100; ++i) roomy.push_back(i);
  HOLDS(roomy.data() == place && roomy == count_to(100));
  roomy.clear();
  HOLDS(roomy.empty() && roomy == dynamic_array<int>{});
  return true;
}
BOTH_TIMES("grows", test_dynamic_array_growth)

constexpr bool test_dynamic_array_values() {
  dynamic_array<int> const sevens(3, 7), zeros(2);
  HOLDS(sevens.size() == 3 && sevens[0] == 7 && sevens[1] == 7 && sevens[2] == 7);
  HOLDS(zeros.size() == 2 && zeros[0] == 0 && zeros[1] == 0);
  dynamic_array<int> copy = sevens;
  copy[1] = 8;
  HOLDS(sevens[1] == 7 && copy != sevens);
  copy = sevens;
  HOLDS(copy == sevens);
  dynamic_array<int> moved = std::move(copy);
  HOLDS(moved == sevens);
  moved = count_to(2);
  HOLDS(moved == count_to(2));
  moved.swap(copy);
  HOLDS(copy == count_to(2) && moved.empty());
  dynamic_array<int> const& self = copy;
  copy = self;
  HOLDS(copy == count_to(2));
  return true;
}
BOTH_TIMES("a value like any other", test_dynamic_array_values)

}  // namespace

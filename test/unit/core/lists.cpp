#include <ashlar/core/lists.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_lists() {
  int const numbers[] = {12, 3, 22, 40, 2, 13};
  lists<int> const by_last_digit(5, [&](auto add) {
    for (int n : numbers) add(n % 10, n);
  });
  HOLDS(by_last_digit.size() == 5);
  HOLDS(by_last_digit[0].size() == 1 && by_last_digit[0][0] == 40);
  HOLDS(by_last_digit[1].empty() && by_last_digit[4].empty());
  HOLDS(by_last_digit[2].size() == 3);  // in the order in which they were added
  HOLDS(by_last_digit[2][0] == 12 && by_last_digit[2][1] == 22 && by_last_digit[2][2] == 2);
  HOLDS(by_last_digit[3].size() == 2 && by_last_digit[3][0] == 3 && by_last_digit[3][1] == 13);
  return true;
}
BOTH_TIMES("lists by number keep the order of their elements", test_lists)

constexpr bool test_no_lists() {
  auto const nothing = [](auto) {};
  HOLDS(lists<int>().size() == 0 && lists<int>(0, nothing).size() == 0);
  HOLDS(lists<int>(2, nothing).size() == 2 && lists<int>(2, nothing)[1].empty());
  return true;
}
BOTH_TIMES("lists may be empty, and there may be none", test_no_lists)

}  // namespace

#include <ashlar/core/list_view.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <array>
#include <span>

using namespace ashlar;

namespace {

constexpr bool test_view() {
  std::array<int, 3> const values{2, 3, 5};
  list_view<int> const view{values.data(), values.data() + values.size()};
  HOLDS(view.size() == 3 && !view.empty());
  HOLDS(view[0] == 2 && view[2] == 5);
  int sum = 0;
  for (int v : view) sum += v;
  HOLDS(sum == 10);
  std::span<int const> const same = view;
  HOLDS(same.size() == 3 && same.data() == view.data());
  list_view<int> const whole = values;
  HOLDS(whole.data() == values.data() && whole.size() == 3);
  HOLDS(list_view<int>{}.empty() && list_view<int>{}.size() == 0);
  return true;
}
BOTH_TIMES("a list view walks over its elements", test_view)

}  // namespace

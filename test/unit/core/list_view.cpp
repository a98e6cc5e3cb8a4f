#include <ashlar/core/list_view.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <array>
#include <span>

using namespace ashlar;

namespace {

TEST_CASE("a list view walks over its elements") {
  std::array<int, 3> const values{2, 3, 5};
  list_view<int> const view{values.data(), values.data() + values.size()};
  CHECK((view.size() == 3 && !view.empty()));
  CHECK((view[0] == 2 && view[2] == 5));
  int sum = 0;
  for (int v : view) sum += v;
  CHECK(sum == 10);
  std::span<int const> const same = view;
  CHECK((same.size() == 3 && same.data() == view.data()));
  list_view<int> const whole = values;
  CHECK((whole.data() == values.data() && whole.size() == 3));
  CHECK((list_view<int>{}.empty() && list_view<int>{}.size() == 0));
}

}  // namespace

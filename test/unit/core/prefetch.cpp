#include <ashlar/core/prefetch.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

// Any place will do, also none.
TEST_CASE("a hint changes nothing") {
  std::vector<int> const list(100, 7);
  int sum = 0;
  for (int const& each : list) {
    prefetch(&each);
    sum += each;
  }
  prefetch(list.data() + list.size());
  prefetch(static_cast<int const*>(nullptr));
  CHECK(sum == 700);
}

}  // namespace

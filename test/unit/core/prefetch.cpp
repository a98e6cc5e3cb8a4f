#include <ashlar/core/prefetch.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <vector>

using namespace ashlar;

namespace {

// Any place will do, also none.
constexpr bool test_prefetch() {
  std::vector<int> const list(100, 7);
  int sum = 0;
  for (int const& each : list) {
    prefetch(&each);
    sum += each;
  }
  prefetch(list.data() + list.size());
  prefetch(static_cast<int const*>(nullptr));
  HOLDS(sum == 700);
  return true;
}
BOTH_TIMES("a hint changes nothing", test_prefetch)

}  // namespace

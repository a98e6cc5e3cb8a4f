#include <ashlar/core/literal_optional.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_maybe() {
  literal_optional<std::vector<int>> none = std::nullopt, one = std::vector<int>{1, 2};
  HOLDS(!none && !none.has_value() && one && one.has_value());
  HOLDS(*one == std::vector<int>{1, 2} && one->size() == 2);
  HOLDS(none == literal_optional<std::vector<int>>{} && none != one);
  none = one;
  HOLDS(none == one);
  one = std::nullopt;
  HOLDS(!one && none);
  return true;
}
BOTH_TIMES("a value or none", test_maybe)

}  // namespace

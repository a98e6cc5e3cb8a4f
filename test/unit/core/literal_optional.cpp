#include <ashlar/core/literal_optional.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("a value or none") {
  literal_optional<std::vector<int>> none = std::nullopt, one = std::vector<int>{1, 2};
  CHECK((!none && !none.has_value() && one && one.has_value()));
  CHECK((*one == std::vector<int>{1, 2} && one->size() == 2));
  CHECK((none == literal_optional<std::vector<int>>{} && none != one));
  none = one;
  CHECK(none == one);
  one = std::nullopt;
  CHECK((!one && none));
}

}  // namespace

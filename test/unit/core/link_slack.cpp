#include <ashlar/core/link_slack.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("a link without transfers has no slack") {
  CHECK(link_slack{} == link_slack{.from = 0, .to = 0, .transfers = 0, .slack = 0});
  CHECK(link_slack{.slack = 1} != link_slack{});
}

}  // namespace

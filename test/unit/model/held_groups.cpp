#include <ashlar/model/held_groups.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("the groups that each device holds") {
  placement const five = linear(devices{5});
  for (placement const& where : {overlay(five, mirror(five)), looped(devices{3}, chunks{2}),
                                 placement(devices{4}, {{3, 3, 0}})}) {  // two devices hold nothing
    parameter_groups const groups(where, {{where.stage_count() - 1, 0}, {1}});
    lists<int> const held = held_groups(groups.view(), where.device_count());
    for (int d = 0; d < where.device_count(); ++d) {
      std::vector<int> expected;
      for (int group = 0; group < groups.count(); ++group)
        if (groups.member_of(group, d) >= 0) expected.push_back(group);
      list_view<int> const found = nth(held, d);
      CHECK(std::vector<int>(found.begin(), found.end()) == expected);
    }
  }
}

}  // namespace

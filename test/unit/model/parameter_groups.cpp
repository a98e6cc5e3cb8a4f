#include <ashlar/model/parameter_groups.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr std::vector<int> holders(placement const& where, int group,
                                   std::vector<std::vector<int>> const& shared = {}) {
  parameter_groups const groups(where, shared);
  list_view<int> const all = groups.holders(group);
  return std::vector<int>(all.begin(), all.end());
}

constexpr bool test_holders() {
  placement const down = linear(devices{3});
  HOLDS(holders(down, 1) == std::vector<int>{1});
  placement const both = overlay(mirror(down), down);
  HOLDS(holders(both, 0) == std::vector<int>{2, 0});  // in the order of the routes
  HOLDS(holders(both, 1) == std::vector<int>{1});     // routes that meet share the weights
  HOLDS(holders(overlay(both, both), 2) == std::vector<int>{0, 2});
  HOLDS(holders(both, 3) == std::vector<int>{0, 1, 2});  // everyone
  parameter_groups const groups(both);
  HOLDS(groups.count() == 3 && groups.everyone() == 3);
  HOLDS(groups.member_of(0, 0) == 1 && groups.member_of(0, 2) == 0 && groups.member_of(0, 1) == -1);
  return true;
}
BOTH_TIMES("holders in the order of the routes", test_holders)

constexpr bool test_shared_parameters() {
  placement const down = linear(devices{3});
  parameter_groups const tied(down, {{2, 0}});
  HOLDS(tied.count() == 4 && tied.shared() == std::vector<std::vector<int>>{{2, 0}});
  HOLDS(holders(down, 3, {{2, 0}}) == std::vector<int>{2, 0});  // in the order in which they are named
  HOLDS(holders(v_shape(devices{2}), 4, {{0, 3}}) == std::vector<int>{0});  // both on one device
  HOLDS(holders(overlay(down, mirror(down)), 3, {{0, 2}}) == std::vector<int>{0, 2});
  int own = -1, sum = 0;
  tied.for_each_of_stage(2, [&](int group) {
    if (own == -1) own = group;
    sum += group;
  });
  HOLDS(own == 2 && sum == 5);
  HOLDS(tied.belong_to(down) && !tied.belong_to(mirror(down)) && !tied.belong_to(linear(devices{4})));
  return true;
}
BOTH_TIMES("parameters that stages have in common", test_shared_parameters)

TEST_CASE("stages that there are not have nothing in common") {
  placement const down = linear(devices{3});
  CHECK_BREAKS(every_pass_is_known, parameter_groups(down, {{0, 3}}));
  CHECK_BREAKS(every_pass_is_known, parameter_groups(down, {{-1, 0}}));
  CHECK_BREAKS(every_pass_is_known, parameter_groups(down, {{1, 1}}));
  CHECK_BREAKS(counts_are_positive, parameter_groups(down, {{}}));
}

constexpr bool test_chunks() {
  placement const down = looped(devices{2}, chunks{2});
  HOLDS(stages_on(down, 1) == std::vector<int>{1, 3});
  placement const both = overlay(down, mirror(down));
  HOLDS(stages_on(both, 1) == std::vector<int>{1, 3, 0, 2});  // by route first
  placement const three = linear(devices{3});
  HOLDS(stages_on(overlay(three, mirror(three)), 1) == std::vector<int>{1});  // each once
  return true;
}
BOTH_TIMES("chunks in the order of route and stage", test_chunks)

constexpr bool test_middle() {
  HOLDS(is_middle(0, 1) && is_middle(0, 2) && is_middle(1, 2));
  HOLDS(!is_middle(0, 3) && is_middle(1, 3) && !is_middle(2, 3));
  HOLDS(!is_middle(2, 8) && is_middle(3, 8) && is_middle(4, 8) && !is_middle(5, 8));
  return true;
}
BOTH_TIMES("the middle of a pipeline", test_middle)

constexpr bool test_shards() {
  for (std::size_t bytes : {0UL, 5UL, 8UL, 72UL, 100UL, 4096UL})
    for (int ranks : {1, 2, 3, 7}) {
      std::size_t at = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        byte_range const shard = shard_of(bytes, rank, ranks);
        HOLDS(shard.begin == at && at % 8 == 0);
        HOLDS(shard.size <= bytes / static_cast<std::size_t>(ranks) + 16);
        at += shard.size;
      }
      HOLDS(at == bytes);
    }
  HOLDS(shard_of(72, 0, 2) == byte_range{0, 32} && shard_of(72, 1, 2) == byte_range{32, 40});
  return true;
}
BOTH_TIMES("shards cover a buffer, in order", test_shards)

}  // namespace

#include <ashlar/model/parameter_groups.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

using namespace ashlar;

namespace {

constexpr std::vector<int> holders(placement const& where, int group,
                                   std::vector<std::vector<int>> const& shared = {}) {
  parameter_groups const groups(where, shared);
  list_view<int> const all = groups.holders(group);
  return std::vector<int>(all.begin(), all.end());
}

TEST_CASE("holders in the order of the routes") {
  placement const down = linear(devices{3});
  CHECK(holders(down, 1) == std::vector<int>{1});
  placement const both = overlay(mirror(down), down);
  CHECK(holders(both, 0) == std::vector<int>{2, 0});  // in the order of the routes
  CHECK(holders(both, 1) == std::vector<int>{1});     // routes that meet share the weights
  CHECK(holders(overlay(both, both), 2) == std::vector<int>{0, 2});
  CHECK(holders(both, 3) == std::vector<int>{0, 1, 2});  // everyone
  parameter_groups const groups(both);
  CHECK((groups.count() == 3 && groups.everyone() == 3));
  CHECK((groups.member_of(0, 0) == 1 && groups.member_of(0, 2) == 0 && groups.member_of(0, 1) == -1));
}

TEST_CASE("parameters that stages have in common") {
  placement const down = linear(devices{3});
  parameter_groups const tied(down, {{2, 0}});
  CHECK((tied.count() == 4 && tied.shared() == std::vector<std::vector<int>>{{2, 0}}));
  CHECK(holders(down, 3, {{2, 0}}) == std::vector<int>{2, 0});  // in the order in which they are named
  CHECK(holders(v_shape(devices{2}), 4, {{0, 3}}) == std::vector<int>{0});  // both on one device
  CHECK(holders(overlay(down, mirror(down)), 3, {{0, 2}}) == std::vector<int>{0, 2});
  int own = -1, sum = 0;
  tied.for_each_of_stage(2, [&](int group) {
    if (own == -1) own = group;
    sum += group;
  });
  CHECK((own == 2 && sum == 5));
  CHECK((tied.belong_to(down) && !tied.belong_to(mirror(down)) && !tied.belong_to(linear(devices{4}))));
}

TEST_CASE("stages that there are not have nothing in common") {
  placement const down = linear(devices{3});
  CHECK_BREAKS(every_pass_is_known, parameter_groups(down, {{0, 3}}));
  CHECK_BREAKS(every_pass_is_known, parameter_groups(down, {{-1, 0}}));
  CHECK_BREAKS(every_pass_is_known, parameter_groups(down, {{1, 1}}));
  CHECK_BREAKS(counts_are_positive, parameter_groups(down, {{}}));
}

TEST_CASE("chunks in the order of route and stage") {
  placement const down = looped(devices{2}, chunks{2});
  CHECK(stages_on(down, 1) == std::vector<int>{1, 3});
  placement const both = overlay(down, mirror(down));
  CHECK(stages_on(both, 1) == std::vector<int>{1, 3, 0, 2});  // by route first
  placement const three = linear(devices{3});
  CHECK(stages_on(overlay(three, mirror(three)), 1) == std::vector<int>{1});  // each once
}

TEST_CASE("the middle of a pipeline") {
  CHECK((is_middle(0, 1) && is_middle(0, 2) && is_middle(1, 2)));
  CHECK((!is_middle(0, 3) && is_middle(1, 3) && !is_middle(2, 3)));
  CHECK((!is_middle(2, 8) && is_middle(3, 8) && is_middle(4, 8) && !is_middle(5, 8)));
}

TEST_CASE("shards cover a buffer, in order") {
  for (std::size_t bytes : {0UL, 5UL, 8UL, 72UL, 100UL, 4096UL})
    for (int ranks : {1, 2, 3, 7}) {
      std::size_t at = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        byte_range const shard = shard_of(bytes, rank, ranks);
        CHECK((shard.begin == at && at % 8 == 0));
        CHECK(shard.size <= bytes / static_cast<std::size_t>(ranks) + 16);
        at += shard.size;
      }
      CHECK(at == bytes);
    }
  CHECK((shard_of(72, 0, 2) == byte_range{0, 32} && shard_of(72, 1, 2) == byte_range{32, 40}));
}

TEST_CASE("a part of a buffer begins at its start") {
  CHECK(byte_range{} == byte_range{0, 0});
  CHECK(byte_range{0, 1} != byte_range{1, 1});
}

}  // namespace

#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/members.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

TEST_CASE("members: of each scope, in the order of sums") {
  // Both stages lie on both devices.
  program const p =
      catalog::find("chimera")->make({devices{2}, micro_batches{2}}) | lower({.data_ranks = 2});
  program_view const v = p.view();
  auto const holders = p.groups.holders(1);
  std::vector<int> const order{holders[0], holders[1]};
  CHECK(members_of(v, {.scope = group_scope::ranks, .of = 1}, 0) == std::vector{1, 3});
  CHECK(members_of(v, {.scope = group_scope::holders_of_a_rank, .of = 1}, 1)
        == std::vector{2 + order[0], 2 + order[1]});
  CHECK(members_of(v, {.scope = group_scope::holders, .of = 1}, 0)
        == std::vector{order[0], 2 + order[0], order[1], 2 + order[1]});
  CHECK(members_of(v, {.scope = group_scope::holders, .of = p.groups.everyone()}, 0)
        == std::vector{0, 1, 2, 3});
  CHECK(number_of(v, 1, 1) == 3);
}

#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/members.hpp>

#include <doctest/doctest.h>

#include <cstddef>
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

TEST_CASE("members: of what sums work, the devices of its parts in their order") {
  schedule s = catalog::find("1f1b")->make({devices{3}, micro_batches{2}});
  std::vector<int> const order{2, 0, 1};
  work_job made, sum;
  sum.does = all_reduce_job{};
  std::vector<work_edge> edges;
  for (int k = 0; k < 3; ++k) {
    int const d = order[static_cast<std::size_t>(k)];
    made.parts.push_back({d, 1});
    sum.parts.push_back({d, 1});
    edges.push_back({{pass_kind::work, 0, k}, {pass_kind::work, 1, k}});
    s.order[static_cast<std::size_t>(d)].push_back({{pass_kind::work, 0, k}, 1000});
  }
  s.work = work_graph({made, sum}, edges);
  program const p = lower(s, {.data_ranks = 2});
  program_view const v = p.view();
  CHECK(devices_of(v, group_of_job(v, 1)) == order);
  CHECK(members_of(v, {.scope = group_scope::holders_of_a_rank, .of = group_of_job(v, 1)}, 1)
        == std::vector{5, 3, 4});
}

#include <ashlar/search/layout_freedoms.hpp>
// The header above comes first: it needs nothing before it.
#include "part_lists.hpp"
#include <ashlar/core/part_costs.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/in_order.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;
using namespace part_lists;

namespace {

layout_choice of_lengths(std::vector<int> const& lengths) {
  std::vector<stage_cost> each;
  for (int const l : lengths) each.push_back({l, l, l});
  auto const m = static_cast<int>(lengths.size());
  return {.problem = {.where = linear(devices{3}),
                      .m = micro_batches{m},
                      .cost = costs(pass_costs::by_stage_and_micro_batch(each, m)),
                      .limit = chunk_activations(3)}};
}

TEST_CASE("layouts with another order of micro-batches stand behind their own, where one helps") {
  layout_choice const alike = of_lengths({4, 4, 4, 4}), differ = of_lengths({9, 1, 1, 1, 9, 1});
  for (objective const aim : {objective::span, objective::makespan, objective::program}) {
    std::vector<layout_choice> const all = with_orders({alike, differ}, aim);
    REQUIRE(all.size() == 3);
    CHECK(all[0].micro_batches.empty());
    CHECK(all[1].micro_batches.empty());
    CHECK(all[1].problem.cost == differ.problem.cost);
    REQUIRE(all[2].micro_batches.size() == 6);
    CHECK(all[2].problem.cost == in_order(differ.problem, all[2].micro_batches).cost);
  }
  CHECK(with_orders({}, objective::span).empty());
}

TEST_CASE("pairs in what was found: its schedule, what it reaches, and the bound with pairs") {
  stage_parts const layer{.forward = {computes(4), exchanges(3)},
                          .backward = {exchanges(3), computes(4), computes(4, true)}};
  search_problem const problem{.where = linear(devices{3}),
                               .m = micro_batches{8},
                               .cost = costs(costs_of(part_costs{.stages = {layer}})),
                               .limit = chunk_activations(6)};
  search_result const plain = search(problem, {.passes = 5000, .aim = objective::makespan});
  searched_layout found{{.problem = problem}, plain, objective::makespan};
  braid(found, 100);
  braided_schedule const same =
      braid(problem, plain.best, objective::makespan, 100 * pass_count(problem));
  CHECK(found.result.best == same.best);
  CHECK(found.result.reached == same.reached);
  CHECK(found.result.reached < plain.reached);
  CHECK(found.result.passes == plain.passes + same.passes);
  CHECK(found.least() == braided_bound(problem).makespan);
  searched_layout other{{.problem = problem}, plain, objective::both};
  braid(other, 100);
  CHECK(other.result.reached == makespan(other.result.best));
  CHECK((other.least() == braided_bound(problem).makespan && other.gap() >= 0));
}

}  // namespace

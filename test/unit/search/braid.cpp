#include <ashlar/search/braid.hpp>
// The header above comes first: it needs nothing before it.
#include "part_lists.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

using namespace ashlar;
using namespace part_lists;

namespace {

search_problem problem_of(placement where, int m, tick exchange, int activations) {
  stage_parts const layer{
      .forward = {computes(4), exchanges(exchange), computes(4), exchanges(exchange)},
      .backward = {exchanges(exchange), computes(4), computes(4, true), exchanges(exchange), computes(4),
                   computes(4, true)}};
  return {.where = std::move(where),
          .m = micro_batches{m},
          .cost = costs(costs_of(part_costs{.stages = {layer}})),
          .limit = chunk_activations(activations)};
}

TEST_CASE("pairs make a schedule no longer, keep to the limit, and more to spend does no harm") {
  int shorter = 0;
  for (tick const exchange : {0, 1, 3})
    for (placement const& where :
         {linear(devices{3}), v_shape(devices{2}), looped(devices{2}, chunks{2})})
      for (int const activations : {3, 4, 6, 8})
        for (objective const aim : {objective::span, objective::makespan}) {
          search_problem const problem = problem_of(where, 6, exchange, activations);
          if (!check(problem).ok()) continue;
          search_result const plain = search(problem, {.passes = 5000, .aim = aim});
          tick last = plain.reached;
          for (std::int64_t const passes : {0, 500, 5000, 500'000}) {
            braided_schedule const made = braid(problem, plain.best, aim, passes);
            CHECK(check(made.best).ok());
            CHECK(is_within(made.best, problem.limit));
            CHECK(made.reached == (aim == objective::span ? span(made.best) : makespan(made.best)));
            CHECK(made.reached <= last);
            bound const least = braided_bound(problem);
            CHECK(made.reached >= (aim == objective::span ? least.span : least.makespan));
            last = made.reached;
          }
          shorter += last < plain.reached;
          if (exchange == 0) CHECK(last == plain.reached);
        }
  CHECK(shorter > 10);
}

TEST_CASE("no longer than what is published with pairs") {
  for (char const* name : {"dualpipev", "stp", "combined-1f1b"}) {
    schedule known = catalog::find(name)->make({devices{2}, micro_batches{8}});
    int peak = 0;
    for (int const held : peak_activations(known)) peak = std::max(peak, held);
    search_problem const problem = problem_of(known.where, 8, 3, peak);
    known = retime(known, problem.cost);
    schedule const plain = one_after_another(problem.where, problem.m, problem.cost);
    CHECK(braid(problem, plain, objective::makespan, 100'000).reached <= makespan(known));
    search_problem without = problem;
    without.cost.passes.overlapped = pair_costs{};
    CHECK(braid(without, plain, objective::makespan, 100'000).best == plain);
  }
}

}  // namespace

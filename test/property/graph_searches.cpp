// Properties of every search over a stage graph, compared with trying everything.
#include "exhaustive_search.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

using namespace random_case;

namespace {

stage_graph any_tiny_graph(dice& d, int count) {
  std::vector<stage_edge> edges;
  for (int to = 1; to < count; ++to)
    for (int from = 0; from < to; ++from)
      if (d.percent(50)) edges.push_back({from, to});
  return stage_graph(stages{count}, edges);
}

// Limits memory from the least up, by device, or not at all.
void limit_memory(dice& d, search_problem& problem) {
  std::vector<byte_count>& budget = problem.limit.budget;
  if (d.percent(30)) {
    budget = {1'000'000};
    return;
  }
  budget = smallest_budgets(problem);
  for (byte_count& most : budget) most += d.between(0, 3);
}

TEST_CASE("a search over a graph is valid, keeps to the limit, and lies between bound and seeds") {
  int const problems = random_cases(60);
  int at_bound = 0, better = 0;
  FOR_SEEDS(problems) {
    schedule const like = conformance::random_graph_schedule(seed);
    search_problem problem{
        .where = random_placement(d, devices{d.between(1, 3)}, stages{like.stage_count()}),
        .m = micro_batches{like.micro_batch_count()},
        .cost = random_costs(d, like.stage_count()),
        .limit = chunk_activations(0),
        .graph = like.graph};
    if (d.percent(30)) problem.limit.memory.stages[0].checkpoint = 0;
    limit_memory(d, problem);
    objective const aim = static_cast<objective>(d.between(0, 3));
    CAPTURE(seed);
    REQUIRE(check(problem).ok());
    search_result const r = search(problem, {.passes = 5'000, .seed = seed, .aim = aim});
    CHECK(check(r.best).ok());
    CHECK(r.best.graph == graph_of(problem));
    CHECK(r.best.where == problem.where);
    CHECK(is_within(r.best, problem.limit));
    CHECK(check(lower(r.best)).ok());
    CHECK(span(r.best) >= r.least.span);
    CHECK(makespan(r.best) >= r.least.makespan);
    if (aim != objective::makespan) continue;
    CHECK(r.reached == makespan(r.best));
    at_bound += r.reached == r.least.makespan ? 1 : 0;
    tick shortest = std::numeric_limits<tick>::max();
    for (schedule const& known : seeds_of(problem))
      if (is_within(known, problem.limit)) shortest = std::min(shortest, makespan(known));
    CHECK(r.reached <= shortest);
    better += r.reached < shortest ? 1 : 0;
  }
  MESSAGE(at_bound << " of " << problems << " at the bound, " << better << " better than all seeds");
  CHECK(at_bound > 0);
  CHECK((better > 0 || problems < 60));  // of a few, none need be
}

TEST_CASE("a search over a tiny graph finds the shortest schedule that there is") {
  int judged = 0, shortest = 0;
  int const problems = random_cases(40);
  FOR_SEEDS(problems) {
    int const count = d.between(2, 4);
    stage_graph const graph = any_tiny_graph(d, count);
    search_problem problem{.where = random_placement(d, devices{d.between(2, 3)}, stages{count}),
                           .m = micro_batches{2},
                           .cost = random_costs(d, count),
                           .limit = chunk_activations(0),
                           .graph = graph};
    limit_memory(d, problem);
    CAPTURE(seed);
    search_result const r =
        search(problem, {.passes = 20'000, .seed = seed, .aim = objective::makespan});
    workload const all{
        .where = problem.where, .micro_batch_count = 2, .cost = problem.cost, .limit = problem.limit};
    using exhaustive_search::search;
    tick const least = search(all, true, graph).least(search::aim::makespan, r.least.makespan, 300'000);
    if (least < 0) continue;
    ++judged;
    CHECK(r.least.makespan <= least);
    CHECK(r.reached >= least);
    shortest += r.reached == least ? 1 : 0;
  }
  MESSAGE(shortest << " of " << judged << " as short as can be");
  CHECK(judged > problems / 2);
  CHECK(10 * shortest >= 9 * judged);
}

TEST_CASE("a search over a chain given as a graph is that of the chain") {
  FOR_SEEDS(20) {
    int const count = d.between(1, 5);
    search_problem problem{.where = random_placement(d, devices{d.between(1, 3)}, stages{count}),
                           .m = micro_batches{d.between(1, 5)},
                           .cost = random_costs(d, count),
                           .limit = chunk_activations(2 * count)};
    search_budget const budget{.passes = 3'000, .seed = seed, .aim = objective::span};
    search_result const r = search(problem, budget);
    problem.graph = chain(stages{count});
    CHECK(search(problem, budget).best == r.best);
    CHECK(search(problem, budget).least == r.least);
  }
}

}  // namespace

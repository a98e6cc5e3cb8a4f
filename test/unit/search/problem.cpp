#include <ashlar/search/problem.hpp>
// First, so that it needs nothing before it.
#include "limits.hpp"
#include "search_problems.hpp"
#include "static_check.hpp"
#include <ashlar/bounds/lower_bound.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

using namespace shapes;

namespace {

TEST_CASE("a bound in whatever memory counts") {
  search_problem problem = on_v_with(2, 3, chunk_activations(3));
  workload w{.where = problem.where,
             .micro_batch_count = 3,
             .cost = problem.cost,
             .limit = chunk_activations(3)};
  CHECK(problem_bound(problem) == workload_bound(w));
  problem.limit.budget = {3, std::numeric_limits<std::int64_t>::max()};
  w.limit = chunk_activations({3, workload::no_limit});
  CHECK(problem_bound(problem) == workload_bound(w));
  problem.limit =
      limits::sized({15}, {4}, {4});  // bytes, of which some are too few for another activation
  w.limit = chunk_activations(3);
  CHECK(problem_bound(problem) == workload_bound(w));
  problem.limit = limits::sized({15}, {4}, {1});  // given back early: 3 until then, 15 after
  w.limit = limits::sized({3}, {1}, {0});
  CHECK(problem_bound(problem) == workload_bound(w));
  problem.limit = limits::sized({15}, {4, 8, 7, 4}, {1});  // as many as of the smallest on the device
  w.limit = limits::sized({3, 2}, {1}, {0});
  CHECK(problem_bound(problem) == workload_bound(w));
}

TEST_CASE("a bound where stages recompute") {
  search_problem problem =
      on_v_with(2, 6, limits::recomputing(limits::sized({10}, {5}, {5}), 4, {0}, 1));
  workload w{.where = problem.where, .micro_batch_count = 6, .cost = problem.cost};
  w.limit = limits::recomputing(chunk_activations({10, 2}), 4, {0}, 1);
  bound const b = problem_bound(problem), kept = workload_bound(w);
  // Room for two that are recomputed, or for any number that are not yet.
  bound const taken = bounding::machine_bound(
      bounding::flow_of({.where = w.where,
                         .micro_batch_count = 6,
                         .cost = w.cost,
                         .limit = limits::recomputing(chunk_activations(2), 4, {0}, 0)},
                        {.from = pass_kind::recompute}));
  CHECK(b.span == std::max(kept.span, taken.span));
  CHECK(b.makespan == std::max(kept.makespan, taken.makespan));
  CHECK(b.span > problem_bound(on_v_with(2, 6, chunk_activations(2 * 6))).span);  // there is more to do
}

constexpr bool test_refused() {
  diagnosis const d = check(on_v_with(3, 4, chunk_activations({2, 1, 0})));
  HOLDS(d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget);
  HOLDS(d.first.device == 1 && d.number == 2 && d.given == 1);
  HOLDS(check(on_v_with(3, 4, chunk_activations(2))).ok());
  HOLDS(check(on_v_with(3, 0, chunk_activations(2))).broken == rule::counts_are_positive);
  HOLDS(check(on_v_with(3, 4, chunk_activations({2, 2}))).broken == rule::tables_agree);
  HOLDS(check(on_v_with(3, 4, chunk_activations(2), -1)).broken == rule::durations_are_positive);
  return true;
}
BOTH_TIMES("problems without a solution", test_refused)

}  // namespace

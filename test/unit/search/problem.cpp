#include <ashlar/search/problem.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "search_problems.hpp"
#include "violations.hpp"
#include <ashlar/bounds/lower_bound.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

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
  // There is room for two that are recomputed, or for any number that are not yet.
  bound const taken = bounding_detail::machine_bound(
      bounding_detail::flow_of({.where = w.where,
                                .micro_batch_count = 6,
                                .cost = w.cost,
                                .limit = limits::recomputing(chunk_activations(2), 4, {0}, 0)},
                               {.from = pass_kind::recompute}));
  CHECK(b.span == std::max(kept.span, taken.span));
  CHECK(b.makespan == std::max(kept.makespan, taken.makespan));
  CHECK(b.span > problem_bound(on_v_with(2, 6, chunk_activations(2 * 6))).span);  // there is more to do
}

TEST_CASE("the first schedules of a graph are of whole sequences") {
  search_problem cut = on_v_with(2, 4, chunk_activations(most_passes));
  cut.sequence_chunks = 2;
  CHECK_BREAKS(parameter_is_at_most, first_of_graph(cut));
  CHECK_BREAKS(parameter_is_at_most, one_f_one_b_of(cut));
}

TEST_CASE("problems without a solution") {
  diagnosis const d = check(on_v_with(3, 4, chunk_activations({2, 1, 0})));
  CHECK((d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget));
  CHECK((d.first.device == 1 && d.number == 2 && d.given == 1));
  CHECK(check(on_v_with(3, 4, chunk_activations(2))).ok());
  CHECK(check(on_v_with(3, 0, chunk_activations(2))).broken == rule::counts_are_positive);
  CHECK(check(on_v_with(3, 4, chunk_activations({2, 2}))).broken == rule::tables_agree);
  CHECK(check(on_v_with(3, 4, chunk_activations(2), -1)).broken == rule::no_duration_is_negative);
}

// Two branches of a fork on a device.
search_problem forked(memory_limit limit) {
  search_problem problem{.where = placement(devices{2}, {{0, 1, 1}}),
                         .m = micro_batches{4},
                         .cost = costs(stage_cost{1, 1, 1}),
                         .limit = limit};
  problem.graph = stage_graph(stages{3}, {{0, 1}, {0, 2}});
  return problem;
}

TEST_CASE("passes over memory that is none are not counted, and work is no start of a search") {
  search_problem problem = on_v_with(3, 4, chunk_activations(2));
  schedule s = seeds_of(problem)[0];
  s.work = work_graph({{.parts = {{0, 1}}}}, {});
  s.order[0].push_back({part_id{0, 0}, makespan(s)});
  CHECK(check_start(problem, s).broken == rule::every_pass_is_known);
  problem.limit.memory.stages[0].stash = -1;
  CHECK_BREAKS(sizes_fit, pass_count(problem));
}

TEST_CASE("the passes of a problem are those of the schedules that it begins with") {
  search_problem sized = forked(chunk_activations(9));
  sized.m = micro_batches{4};
  sized.graph = in_micro_batches(stage_graph(stages{3}, {{0, 1}, {0, 2}}), {2, 1, 2});
  search_problem cut_sequences = on_v_with(2, 3, chunk_activations(12));
  cut_sequences.sequence_chunks = 2;
  for (search_problem const& problem :
       {on_v_with(2, 3, chunk_activations(3)), cut_sequences, forked(chunk_activations(9)), sized,
        on_v_with(2, 6, limits::recomputing(limits::sized({10}, {5}, {5}), 4, {0, 3}, 1))})
    for (schedule const& s : seeds_of(problem))
      CHECK(pass_count(problem) == static_cast<std::int64_t>(pass_count(s)));
}

TEST_CASE("problems over a graph without a solution") {
  CHECK(check(forked(chunk_activations(1))).ok());
  CHECK(smallest_budgets(forked(chunk_activations(1))) == std::vector<byte_count>{1, 1});
  diagnosis const d = check(forked(chunk_activations({1, 0})));
  CHECK((d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget));
  CHECK((d.first.device == 1 && d.number == 1 && d.given == 0));
  search_problem problem = forked(chunk_activations(2));
  problem.sequence_chunks = 2;
  CHECK((check(problem).broken == rule::parameter_is_at_most && check(problem).number == 1));
  problem.sequence_chunks = 1;
  problem.graph = in_sequence_chunks(stage_graph(stages{3}, {{0, 1}, {0, 2}}), 2);
  CHECK((check(problem).which == parameter::sequence_chunk_count && check(problem).given == 2));
  problem.graph = in_micro_batches(stage_graph(stages{3}, {{0, 1}, {0, 2}}), {1, 8, 1});
  CHECK((check(problem).broken == rule::micro_batches_fill_blocks && check(problem).number == 8));
  problem.graph = chain(stages{2});
  CHECK((check(problem).broken == rule::tables_agree && check(problem).number == 2));
}

TEST_CASE("the bound of a graph is paths and work") {
  // A forward and an input pass of both branches lie behind each other with those of stage 0, and the
  // device of both has 2 * 3 ticks a micro-batch, after the forward of stage 0.
  search_problem const problem = forked(chunk_activations(9));
  bound const b = problem_bound(problem);
  CHECK((b.span == 24 && b.makespan == 25));
  CHECK(b.span_by == binding_constraint::work);
}

}  // namespace

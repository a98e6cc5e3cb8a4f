#include <ashlar/search/search.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "search_problems.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("the bound of an objective") {
  search_result r{.best = {}, .least = bound{.span = 5, .makespan = 7}};
  CHECK((r.bound_of(objective::span) == 5 && r.bound_of(objective::makespan) == 7));
  CHECK((r.bound_of(objective::program) == 7 && r.bound_of(objective::both) == 22));
}

// It has any costs and pairs, in its order: the first search result is no longer than it.
TEST_CASE("a schedule of one's own to begin with") {
  search_problem const problem = on_v_with(3, 6, chunk_activations(8));
  block const loose = make_block(problem.where, costs{}, 5, {F, I, W}, [](pass_kind kind, int stage) {
    return kind == F ? tick{stage} : kind == I ? tick{13 - stage} : tick{15 - stage};
  });
  schedule const own = loose | repeat(micro_batches{6}) | squeeze();
  search_start start(problem);
  std::size_t const published = start.seeds.size();
  start.add(problem, own);
  REQUIRE(start.seeds.size() == published + 1);
  CHECK(start.seeds.back() == retime(own, problem.cost));
  search_result const r = search(problem, start, {.passes = 1, .aim = objective::span});
  REQUIRE(is_within(own, problem.limit));
  CHECK(r.reached <= span(retime(own, problem.cost)));

  // Fused backwards are split, pairs undone; what the problem recomputes is recomputed.
  start.add(problem, catalog::find("dualpipev")->make({devices{3}, micro_batches{6}}));
  CHECK(check(start.seeds.back()).ok());
  for (auto const& order : start.seeds.back().order)
    for (time_slot const& t : order) CHECK((!t.is_pair() && t.what.kind != pass_kind::backward));
  search_problem again = on_v_with(3, 6, limits::recomputing(chunk_activations(8), 6, {0, 1}, 0));
  start.add(again, own);
  CHECK(recomputed_stages(start.seeds.back()) == std::vector<int>{0, 1});
  start.add(again, recompute(own, {1}));
  CHECK(recomputed_stages(start.seeds.back()) == std::vector<int>{0, 1});

  CHECK_BREAKS(every_pass_is_known, start.add(problem, recompute(own, {1})));
  CHECK_BREAKS(tables_agree, start.add(problem, loose | repeat(micro_batches{5})));
  CHECK_BREAKS(tables_agree, start.add(problem, one_f_one_b(3, 6)));
  CHECK_BREAKS(tables_agree, start.add(problem, two_ways(3) | repeat(micro_batches{6})));
  CHECK_BREAKS(pass_is_on_its_device, start.add(problem, mirror(own)));
}

TEST_CASE("a tiny search") {
  search_problem const problem{.where = linear(devices{2}),
                               .m = micro_batches{2},
                               .cost = costs(stage_cost{3, 4, 2}, 2),
                               .limit = chunk_activations(2)};
  search_result const r = search(problem, {.passes = 100, .aim = objective::span});
  CHECK((check(r.best).ok() && is_within(r.best, chunk_activations(2)) && span(r.best) == r.reached));
  CHECK(r.reached == r.least.span);
}
TEST_CASE("each objective: what it counts is reached, within the limit, not below the bound, again") {
  search_problem const problem = on_v_with(4, 8, chunk_activations(6));
  for (objective aim : {objective::span, objective::makespan, objective::both, objective::program}) {
    search_budget const e{.passes = 200'000, .aim = aim};
    search_result const r = search(problem, e);
    CAPTURE(static_cast<int>(aim));
    CHECK(check(r.best).ok());
    CHECK(is_within(r.best, chunk_activations(6)));
    CHECK(r.reached >= r.bound_of(aim));
    tick const counted = aim == objective::span       ? span(r.best)
                         : aim == objective::makespan ? makespan(r.best)
                         : aim == objective::both
                             ? makespan(r.best) + 3 * span(r.best)
                             : time_program(lower(r.best), {.cost = problem.cost}).makespan;
    CHECK(r.reached == counted);
    CHECK(span(r.best) >= r.least.span);
    CHECK(makespan(r.best) >= r.least.makespan);
    CHECK((r.passes >= 200'000 || r.reached == r.bound_of(aim)));
    CHECK(r.evaluations == (r.passes + 191) / 192);
    search_result const again = search(problem, e);
    CHECK(again.best == r.best);
    CHECK(again.passes == r.passes);
  }
}

TEST_CASE("one start serves several searches") {
  search_problem const problem = on_v_with(3, 6, chunk_activations(4));
  search_start const start(problem);
  CHECK(start.least == problem_bound(problem));
  for (std::uint64_t seed : {1U, 2U}) {
    search_budget const e{.passes = 20'000, .seed = seed};
    search_result const a = search(problem, e), b = search(problem, start, e);
    CHECK(a.best == b.best);
    CHECK(a.passes == b.passes);
  }
}

TEST_CASE("a search ends at the bound") {
  search_problem const problem = on_v_with(4, 8, chunk_activations(6));
  search_result const r = search(problem, {.passes = 30'000'000, .aim = objective::span});
  CHECK(r.reached == r.least.span);
  CHECK(r.passes < 30'000'000);
}

TEST_CASE("without a budget: the best that is published, or one after the other") {
  search_problem const problem = on_v_with(4, 8, chunk_activations(8));
  search_result const r = search(problem, {.aim = objective::makespan});
  for (published_schedule const& known :
       published_on(problem.where, problem.m, problem.cost, 1, searched_entries::left_out))
    if (is_within(known.made, problem.limit)) CHECK(makespan(r.best) <= makespan(known.made));
  search_result const least =
      search(on_v_with(4, 8, chunk_activations(2)), {.aim = objective::makespan});
  CHECK(check(least.best).ok());
  CHECK(is_within(least.best, chunk_activations(2)));
}

// No simulated program of a published schedule is shorter.
TEST_CASE("programs: no longer than those of the catalog, on links that are slow") {
  for (int p : {2, 3, 4})
    for (tick latency : {1, 6}) {
      search_problem problem{.where = linear(devices{p}),
                             .m = micro_batches{2 * p},
                             .cost = costs(stage_cost{10, 13, 7}, latency),
                             .limit = chunk_activations(p)};
      simulation_options machine{.cost = problem.cost};
      if (p == 3) problem.machine = machine;  // as it is without one
      search_result const r = search(problem, {.passes = 50'000, .aim = objective::program});
      CHECK(r.reached == time_program(lower(r.best), machine).makespan);
      CHECK(check(lower(r.best)).ok());
      for (published_schedule const& known :
           published_on(problem.where, problem.m, problem.cost, 1, searched_entries::left_out))
        if (is_within(known.made, problem.limit))
          CHECK(r.reached <= time_program(lower(known.made), machine).makespan);
    }
}

TEST_CASE("memory in bytes, of which the input pass gives most back") {
  // Device 1 has small chunks and little memory.
  search_problem const problem{
      .where = v_shape(devices{3}),
      .m = micro_batches{6},
      .cost = costs(stage_cost{10, 13, 7}, 1),
      .limit = limits::sized({50, 16, 50}, {20, 8, 20, 20, 8, 20}, {5, 2, 5, 5, 2, 5})};
  search_result const r = search(problem, {.passes = 400'000, .aim = objective::span});
  CHECK(r.reached >= r.least.span);
  CHECK(check(r.best).ok());
  CHECK(is_within(r.best, problem.limit));
  // If all is kept until the weight pass, every schedule takes longer.
  search_problem kept = problem;
  for (stage_memory& m : kept.limit.memory.stages) m.stash_left = stage_memory::all;
  CHECK(problem_bound(kept).span > r.reached);
}

// 1F1B on p = 4 holds 4 activations; here all may hold two, and a tenth of what is recomputed.
TEST_CASE("what is recomputed is held for less time") {
  search_problem problem{.where = linear(devices{4}),
                         .m = micro_batches{12},
                         .cost = costs(stage_cost{10, 13, 7}, 1),
                         .limit = limits::sized({20}, {10}, {10})};
  search_budget const e{.passes = 200'000, .aim = objective::span};
  search_result const none = search(problem, e);
  problem.limit = limits::recomputing(problem.limit, 4, {0, 1}, 1);
  search_result const some = search(problem, e);
  CHECK(check(some.best).ok());
  CHECK(is_within(some.best, problem.limit));
  CHECK(busy(some.best)[0] == 12 * 40);
  CHECK(busy(some.best)[2] == 12 * 30);
  CHECK(some.reached < none.reached);
  CHECK(check(lower(some.best)).ok());
}

// With room for less than two sequences, whole ones take turns and leave most devices idle.
TEST_CASE("sequences in chunks fit where whole ones do not") {
  search_problem const whole{.where = linear(devices{4}),
                             .m = micro_batches{8},
                             .cost = costs(stage_cost{20, 26, 14}, 2),
                             .limit = chunk_activations(1)},
      chunked{.where = linear(devices{4}),
              .m = micro_batches{8},
              .cost = costs(stage_cost{5, 7, 4}, 2),
              .limit = chunk_activations(7),
              .sequence_chunks = 4};
  search_budget const e{.passes = 300'000, .aim = objective::span};
  search_result const one = search(whole, e), four = search(chunked, e);
  CHECK(check(four.best).ok());
  CHECK(four.best.micro_batch_count() == 32);
  CHECK(four.best.graph.sequence_chunks() == 4);
  CHECK(is_within(four.best, chunk_activations(7)));
  CHECK(2 * four.reached < one.reached);
  CHECK(check(lower(four.best)).ok());
  search_problem less = on_v_with(2, 2, chunk_activations(7));
  less.sequence_chunks = 4;
  CHECK_BREAKS(parameter_is_at_least, search(less, {.passes = 1'000}));
}

TEST_CASE("a device without stages needs no memory") {
  search_problem const problem{.where = placement(devices{3}, {{0, 2, 0, 2}}),
                               .m = micro_batches{4},
                               .cost = {},
                               .limit = chunk_activations({2, 0, 2})};
  search_result const r = search(problem, {.passes = 5'000, .aim = objective::span});
  CHECK(check(r.best).ok());
  CHECK(is_within(r.best, problem.limit));
}

TEST_CASE("a watch ends the search") {
  std::int64_t last = 0;
  auto const watch = [&last](list_scheduler::solution const& best, std::int64_t newly_spent) {
    CHECK(best.makespan > 0);
    last += newly_spent;
    return last < 20'000;
  };
  search_result const r = search(on_v_with(4, 16, chunk_activations(4)), {.passes = 1'900'000}, watch);
  CHECK(last >= 20'000);
  CHECK(r.passes < 30'000);
  CHECK(check(r.best).ok());
}

TEST_CASE("problems that a search refuses") {
  CHECK_BREAKS(parameter_is_at_least, search(on_v_with(4, 8, chunk_activations(1)), {.passes = 1'000}));
  CHECK_BREAKS(counts_are_positive, search(on_v_with(4, 0, chunk_activations(4)), {.passes = 1'000}));
  CHECK_BREAKS(tables_agree, search(on_v_with(4, 2, chunk_activations({4, 4})), {.passes = 1'000}));
}

// The simulator counts the same bytes slot by slot.
TEST_CASE("what is found within a limit in bytes is within it when simulated") {
  for (byte_count given : {290, 330, 400}) {
    memory_model memory{
        .stages = std::vector<stage_memory>(
            6, {.weights = 50, .optimizer_state = 30, .weight_gradient = 20, .stash = 40})};
    memory.stages[4].stash = 30;
    search_problem const problem{.where = v_shape(devices{3}),
                                 .m = micro_batches{6},
                                 .cost = costs(stage_cost{10, 13, 7}, 1),
                                 .limit = {.memory = memory, .budget = {given}}};
    search_result const found = search(problem, {.passes = 20'000});
    simulation const run = simulate(lower(found.best), {.cost = problem.cost, .memory = memory});
    for (device_memory const& m : run.memory) {
      CHECK(m.resident == 200);
      CHECK(m.peak > 200);
      CHECK(m.peak <= given);
    }
  }
}

}  // namespace

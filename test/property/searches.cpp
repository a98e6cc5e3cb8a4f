// Properties of every search, over placements, costs and limits.
#include "exhaustive_search.hpp"
#include "random_cases.hpp"
#include "random_problems.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace random_case;

namespace {

// Whether it keeps to the limit, counted as memory_limit says, in the order of starts, by itself.
bool keeps_to(schedule const& s, memory_limit const& limit) {
  for (int device = 0; device < s.device_count(); ++device) {
    byte_count held = 0;
    for (int stage = 0; stage < s.stage_count(); ++stage) {
      stage_memory const& m = limit.memory.of(stage);
      if (s.where.device_of(0, stage) == device)
        held += m.weights + m.optimizer_state + m.weight_gradient;
    }
    byte_count const resident = held;
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(device)])) {
      stage_memory const& m = limit.memory.of(t.what.stage, t.what.micro_batch);
      byte_count const rest = m.stash_left == stage_memory::all ? m.stash : m.stash_left,
                       kept = m.checkpoint == stage_memory::all ? m.stash : m.checkpoint;
      if (t.what.kind == pass_kind::forward) held += kept;
      if (t.what.kind == pass_kind::recompute) held += m.stash - kept;
      if (t.what.kind == pass_kind::backward_input) held += m.weight_stash;
      if (held > limit.budget[limit.budget.size() == 1 ? 0 : static_cast<std::size_t>(device)])
        return false;
      if (t.what.kind == pass_kind::backward_input) held -= m.stash - rest;
      if (t.what.kind == pass_kind::backward_weight) held -= rest + m.weight_stash;
    }
    if (held != resident) return false;
  }
  return true;
}

tick counted(schedule const& s, search_problem const& problem, objective aim) {
  if (aim == objective::span) return span(s);
  if (aim == objective::makespan) return makespan(s);
  if (aim == objective::both) return makespan(s) + 3 * span(s);
  return time_program(lower(s), {.cost = problem.cost}).makespan;
}

TEST_CASE("a search's result is valid, keeps to the limit, and is not below the bound") {
  int at_bound = 0, against = 0;
  int const problems = random_cases(1000);
  FOR_SEEDS(problems) {
    search_problem const problem = random_problem(d);
    objective const aim = static_cast<objective>(d.between(0, 3));
    search_budget const e{.passes = d.between(0, 20) * 1'000, .seed = seed, .aim = aim};
    CAPTURE(seed);
    REQUIRE(check(problem).ok());
    search_result const r = search(problem, e);
    CHECK(check(r.best).ok());
    CHECK(r.best.where == problem.where);
    CHECK(r.best.micro_batch_count() == problem.m.value * problem.sequence_chunks);
    CHECK(r.best.cost == problem.cost);
    CHECK(keeps_to(r.best, problem.limit));
    CHECK(r.reached == counted(r.best, problem, aim));
    CHECK(span(r.best) >= r.least.span);
    CHECK(makespan(r.best) >= r.least.makespan);
    CHECK(r.reached >= r.bound_of(aim));
    at_bound += r.reached == r.bound_of(aim) ? 1 : 0;
    for (schedule const& known : seeds_of(problem))
      if (keeps_to(known, problem.limit)) {
        CHECK(check(known).ok());
        CHECK(r.reached <= counted(known, problem, aim));
        ++against;
      }
    if (seed % 3 != 0) continue;
    search_result const again = search(problem, e);
    CHECK(again.best == r.best);
    CHECK(again.reached == r.reached);
    CHECK(again.passes == r.passes);
  }
  MESSAGE(at_bound << " of " << problems << " results are proved optimal; compared with " << against);
  CHECK(2 * at_bound > problems);
  CHECK(against > 4 * problems);
}

TEST_CASE("a larger budget is no worse: what was found stays found") {
  FOR_SEEDS(100) {
    search_problem const problem = random_problem(d);
    CAPTURE(seed);
    search_result const none = search(problem, {.seed = seed, .aim = objective::span}),
                        more = search(problem, {.passes = 20'000, .seed = seed, .aim = objective::span});
    CHECK(more.reached <= none.reached);
  }
}

TEST_CASE("a limit without a solution is refused with the least that has one") {
  FOR_SEEDS(200) {
    search_problem problem = random_problem(d);
    int const p = problem.where.device_count(), device = d.between(0, p - 1);
    byte_count const least = least_of(problem, device);
    if (least == 0) continue;  // no stage there
    problem.limit.budget.assign(static_cast<std::size_t>(p), 1'000'000);
    problem.limit.budget[static_cast<std::size_t>(device)] =
        least - d.between(1, static_cast<int>(least));
    CAPTURE(seed);
    diagnosis const refused = check(problem);
    CHECK(refused.broken == rule::parameter_is_at_least);
    CHECK(refused.first.device == device);
    CHECK(refused.number == least);
    CHECK(refused.given == problem.limit.budget[static_cast<std::size_t>(device)]);
    CHECK_BREAKS(parameter_is_at_least, search(problem, {.passes = 1'000}));
    problem.limit.budget[static_cast<std::size_t>(device)] = refused.number;
    CHECK(check(problem).ok());
  }
}

// The least memory that any order needs is the hardest for a search that changes orders.
TEST_CASE("at the least memory, a search by the tool's default budget finds the shortest schedule") {
  using exhaustive = exhaustive_search::search;
  constexpr std::int64_t evaluations = 10'000, most_steps = 3'000'000;
  int solved = 0, behind = 0;
  FOR_SEEDS(many_cases(60, 2'000)) {
    devices const p{d.between(2, 3)};
    placement const where = d.percent(30)   ? linear(p)
                            : d.percent(50) ? v_shape(p)
                                            : looped(p, chunks{2});
    int const stage_count = where.stage_count(), most = d.percent(30) ? 4 : 20;
    std::vector<stage_cost> each;
    for (int stage = 0; stage < stage_count; ++stage)
      each.push_back({d.between(0, most), d.between(0, most), d.between(0, most)});
    search_problem const problem{.where = where,
                                 .m = micro_batches{d.between(2, 16 / stage_count)},
                                 .cost = costs(each, d.percent(50) ? 0 : d.between(1, 3)),
                                 .limit = chunk_activations(stage_count / p.value)};
    objective const aim = d.percent(50) ? objective::span : objective::makespan;
    CAPTURE(seed);
    search_result const r =
        search(problem, {.passes = evaluations * pass_count(problem), .seed = seed, .aim = aim});
    CHECK(is_within(r.best, problem.limit));
    tick const least =
        exhaustive(workload_of(problem), true)
            .least(aim == objective::span ? exhaustive::aim::span : exhaustive::aim::makespan,
                   r.bound_of(aim), most_steps);
    if (least < 0) continue;
    ++solved;
    CHECK(r.reached >= least);
    behind += r.reached > least ? 1 : 0;
  }
  MESSAGE(behind << " of " << solved << " are longer than the shortest");
  CHECK(solved > 20);
  CHECK(100 * behind <= solved);
}

}  // namespace

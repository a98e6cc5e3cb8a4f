#include <ashlar/search/micro_batch_order.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/search.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

using namespace shapes;

namespace {

pass_costs lengths(std::vector<int> const& each) {
  std::vector<stage_cost> all;
  for (int const l : each) all.push_back({l, l + l / 2, l});
  return pass_costs::by_stage_and_micro_batch(all, static_cast<int>(each.size()));
}

schedule schedule_named(char const* name, int p, std::vector<int> const& each) {
  return catalog::find(name)->make({.p = devices{p},
                                    .m = micro_batches{static_cast<int>(each.size())},
                                    .cost = costs(lengths(each), 1)});
}

tick best_by_trying(schedule const& s, objective aim) {
  std::vector<int> order(static_cast<std::size_t>(s.micro_batch_count()));
  std::iota(order.begin(), order.end(), 0);
  tick least = max_tick;
  do {
    costs cost = s.cost;
    cost.passes = in_order(s.cost.passes, order);
    schedule const t = retime(s, cost);
    least = std::min(least, aim == objective::span ? span(t) : makespan(t));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

void is_permutation(std::vector<int> order) {
  std::sort(order.begin(), order.end());
  for (std::size_t k = 0; k < order.size(); ++k) CHECK(order[k] == static_cast<int>(k));
}

// There is one route or two, alone and in pairs; some micro-batches are alike.
TEST_CASE("order of micro-batches: trying all agrees, and a short search is between bound and best") {
  for (char const* const name : {"1f1b", "gpipe", "zb-h1", "v-half", "chimera", "interleaved-zb"})
    for (std::vector<int> const& each :
         {std::vector<int>{9, 1, 5, 2, 7, 3}, {4, 1, 4, 1, 8, 8}, {2, 2, 2, 20, 2, 1}})
      for (objective const aim : {objective::makespan, objective::span}) {
        catalog::shape const shape{.p = devices{2}, .m = micro_batches{6}};
        if (!catalog::find(name)->check(shape).ok()) continue;
        CAPTURE(std::string(name));
        schedule const s = schedule_named(name, 2, each);
        tick const best = best_by_trying(s, aim);
        ordered_micro_batches const all = order_micro_batches(s, {.evaluations = 800, .aim = aim});
        CHECK(all.reached == best);
        CHECK(all.is_best);
        is_permutation(all.order);
        CHECK(all.best == retime(s, all.best.cost));
        CHECK(all.best.cost.passes == in_order(s.cost.passes, all.order));
        if (all.least) CHECK(*all.least <= best);
        ordered_micro_batches const some = order_micro_batches(s, {.evaluations = 25, .aim = aim});
        CHECK((some.evaluations <= 26 && some.reached >= best));
        CHECK(some.reached <= (aim == objective::span ? span(s) : makespan(s)));
        is_permutation(some.order);
      }
}

TEST_CASE(
    "order of micro-batches: the same budget and seed give the same, and one that differs is found") {
  std::vector<int> const each{40, 3, 5, 30, 2, 8, 21, 4, 6, 3, 17, 5};
  schedule const s = schedule_named("zb-h1", 4, each);
  ordered_micro_batches const once = order_micro_batches(s, {.evaluations = 500});
  CHECK(once.order == order_micro_batches(s, {.evaluations = 500}).order);
  CHECK(once.reached < makespan(s));
  REQUIRE(once.least);
  CHECK(*once.least <= once.reached);
  // Micro-batches that are alike have one order.
  ordered_micro_batches const alike = order_micro_batches(one_f_one_b(3, 6));
  CHECK((alike.is_best && alike.order == std::vector<int>{0, 1, 2, 3, 4, 5}));
}

// Two long ones at once do not fit on the first device.
TEST_CASE("order of micro-batches: memory that differs is counted") {
  schedule const s = schedule_named("1f1b", 2, {5, 5, 1, 1});
  memory_limit limit{.memory = {}, .budget = {60}};
  limit.memory.micro_batches = 4;
  limit.memory.stages.clear();
  for (byte_count const stash : {50, 50, 10, 10}) {
    stage_memory own{};
    own.stash = stash;
    limit.memory.stages.push_back(own);
  }
  ordered_micro_batches const found = order_micro_batches(s, {}, &limit);
  memory_limit placed = limit;
  placed.memory = in_order(limit.memory, found.order);
  CHECK(is_within(s, placed));
  CHECK(!is_within(s, limit));
  search_problem problem{
      .where = linear(devices{2}), .m = micro_batches{4}, .cost = s.cost, .limit = limit};
  search_problem simulated = problem;
  simulated.machine = simulation_options{.cost = s.cost, .memory = limit.memory};
  simulated = in_order(simulated, found.order);
  CHECK(simulated.machine->memory == placed.memory);
  CHECK(simulated.machine->cost.passes == found.best.cost.passes);
  problem = in_order(problem, found.order);
  CHECK(problem.limit == placed);
  CHECK(problem.cost.passes == found.best.cost.passes);
  CHECK(search(problem, {.passes = 2'000, .aim = objective::makespan}).reached <= found.reached);
}

// Where none fits, all that differ are tried, after the given one.
TEST_CASE("order of micro-batches: memory of any one stage tells them apart") {
  schedule const s = schedule_named("1f1b", 3, {2, 2, 2, 2});
  for (std::size_t const other : {0U, 1U, 2U}) {
    memory_limit limit{.memory = {}, .budget = {0}};
    limit.memory.micro_batches = 4;
    limit.memory.stages.assign(12, {.stash = 10});
    for (std::size_t const k : {0U, 1U}) limit.memory.stages[4 * other + k].stash = 50;
    CHECK(order_micro_batches(s, {}, &limit).evaluations == 1 + 6);
  }
}

TEST_CASE("order of micro-batches: what has none is refused") {
  CHECK_BREAKS(
      tables_agree,
      order_micro_batches(catalog::find("seq1f1b")->make({.p = devices{2}, .m = micro_batches{2}})));
  CHECK_BREAKS(overlapped_passes_are_a_pair,
               order_micro_batches(schedule_named("dualpipe", 2, {1, 2, 3, 4, 5, 6})));
  schedule other = one_f_one_b(2, 3);
  other.cost.passes = lengths({1, 2});
  CHECK_BREAKS(tables_agree, order_micro_batches(other));
}

}  // namespace

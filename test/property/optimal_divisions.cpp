// Checks what a search over all divisions of a model's layers claims to be optimal, for up to five
// devices and four micro-batches: no division has an order that is shorter.
#include "disjunctive_search.hpp"
#include "exhaustive_search.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/search/layouts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

using namespace random_case;

namespace {

// Layers alike or of two kinds, with time on links and a limit on memory, or without.
layer_chain some_layers(dice& d, int layer_count, int m, bool is_tight) {
  link_speed const link{.latency = d.percent(50) ? 0 : d.between(1, 2)};
  layer_chain model{.m = micro_batches{m},
                    .layers = {},
                    .on = {.links = {.inside = link, .between = link}},
                    .budget = {is_tight ? d.between(layer_count / 2, 2 * layer_count) : 100}};
  auto const some_cost = [&] { return stage_cost{d.between(1, 4), d.between(1, 4), d.between(1, 4)}; };
  stage_cost const kinds[] = {some_cost(), some_cost()};
  bool const is_even = d.percent(40);
  for (int i = 0; i < layer_count; ++i)
    model.layers.push_back(
        {.cost = kinds[is_even ? 0 : d.between(0, 1)], .resident = is_tight && d.percent(20) ? 1 : 0});
  return model;
}

// All divisions; those that memory leaves no schedule for are left out.
std::vector<layout_choice> every_division(layer_chain const& model, int p) {
  layout_choice const plain =
      choose_layout({devices{p}, model.m, {pass_costs(), model.on}}, placement_kind::linear, 1, 100);
  std::vector<layout_choice> all = divisions_of(model, plain, 120, 40);
  REQUIRE(static_cast<std::int64_t>(all.size())
          == division_count(static_cast<int>(model.layers.size()), p));
  std::erase_if(all, [](layout_choice const& c) { return !check(c.problem).ok(); });
  return all;
}

// Equal stages, in several placements, with whole and cut sequences, and sets of stages that recompute;
// some under a limit that leaves others no schedule.
std::vector<layout_choice> some_variants(dice& d, int p, int m) {
  model_share const model{
      .p = devices{p},
      .m = micro_batches{m},
      .cost = costs(stage_cost{d.between(1, 4), d.between(1, 4), d.between(1, 4)}, d.between(0, 2))};
  int const percent = 10 * (d.percent(50) ? d.between(2, 6) : d.between(8, 12));
  variety const how{.kept_percent = {d.percent(70) ? 10 : 100}, .most_sequence_chunks = m == 1 ? 2 : 1};
  std::vector<layout_choice> all;
  for (placement_kind const shape : {placement_kind::linear, placement_kind::v, placement_kind::looped})
    if (shape == placement_kind::linear || p < 4)
      for (layout_choice& c : variants_of(
               choose_layout(model, shape, shape == placement_kind::linear ? 1 : 2, percent), how))
        if (check(c.problem).ok()) all.push_back(std::move(c));
  return all;
}

std::optional<bool> is_possible(search_problem const& problem, objective aim, tick length,
                                std::int64_t most_nodes = 3'000) {
  return disjunctive_search::decision(problem, aim == objective::span, length).is_possible(most_nodes);
}

TEST_CASE("two ways to try all orders agree on the shortest one") {
  int solved = 0;
  FOR_SEEDS(static_cast<std::uint64_t>(many_cases(60, 5'000))) {
    CAPTURE(seed);
    int const p = d.between(1, 3);
    int const m = d.between(1, p < 3 ? 3 : 2);
    std::vector<layout_choice> const all =
        d.percent(50) ? every_division(some_layers(d, p + d.between(0, 1), m, d.percent(50)), p)
                      : some_variants(d, p, p < 3 ? std::min(m, 2) : 1);
    if (all.empty()) continue;
    search_problem const& problem =
        all[static_cast<std::size_t>(d.between(0, static_cast<int>(all.size()) - 1))].problem;
    objective const aim = d.percent(50) ? objective::span : objective::makespan;
    using exhaustive_search::search;
    workload const w{.where = problem.where,
                     .micro_batch_count = problem.m.value * problem.sequence_chunks,
                     .cost = problem.cost,
                     .limit = problem.limit,
                     .sequence_chunks = problem.sequence_chunks};
    tick const least = search(w, true).least(
        aim == objective::span ? search::aim::span : search::aim::makespan, 0, 20'000);
    if (least < 0) continue;
    ++solved;
    CHECK(is_possible(problem, aim, least, 1'000'000) == true);
    CHECK(is_possible(problem, aim, least - 1, 1'000'000) == false);
  }
  MESSAGE(solved << " solved");
  CHECK(solved > 30);
}

search_budget some_budget(dice& d, std::uint64_t seed) {
  return {.passes = d.between(2'000, 40'000),
          .seed = seed,
          .aim = d.percent(50) ? objective::span : objective::makespan};
}

// Results of a search of all these choices.
struct claims {
  int optimal = 0, layouts = 0, undecided = 0;
};

// No layout has a schedule below what is claimed of all. Returns the best, if it is proved to be the
// optimum.
std::optional<searched_layout> judged(claims& sum, std::vector<layout_choice> const& choices,
                                      search_budget const& budget) {
  std::vector<searched_layout> const all = search_layouts(choices, budget);
  proved_layouts const proof = proved_of(all);
  searched_layout const& best = all[proof.best];
  CHECK(is_possible(best.choice.problem, budget.aim, best.result.reached).value_or(true));
  if (proof.is_optimal) CHECK(proof.least == best.result.reached);
  for (searched_layout const& s : all) {
    CAPTURE(s.choice.layers);
    // Layouts have ticks of their own: the longest time that is less.
    tick const less = (proof.least * s.choice.unit - 1) / best.choice.unit;
    std::optional<bool> const shorter = is_possible(s.choice.problem, budget.aim, less);
    CHECK_FALSE(shorter.value_or(false));
    sum.undecided += shorter ? 0 : 1;
    ++sum.layouts;
  }
  if (!proof.is_optimal) return std::nullopt;
  ++sum.optimal;
  return best;
}

TEST_CASE("no division of layers to up to five devices is better than the optimum") {
  int const cases = many_cases(60, 20'000);
  int divided = 0, of_five = 0, under_limit = 0;
  claims sum;
  FOR_SEEDS(static_cast<std::uint64_t>(cases)) {
    CAPTURE(seed);
    int const p = d.between(3, 5), m = d.between(p == 3 ? 2 : 3, 4);
    bool const is_tight = d.percent(30);
    std::vector<layout_choice> const choices =
        every_division(some_layers(d, p + d.between(1, p == 5 ? 2 : 3), m, is_tight), p);
    if (choices.empty()) continue;
    std::optional<searched_layout> const best = judged(sum, choices, some_budget(d, seed));
    if (!best) continue;
    divided += best->choice.layers.front() != best->choice.layers.back() ? 1 : 0;
    of_five += p == 5 ? 1 : 0;
    under_limit += is_tight ? 1 : 0;
  }
  MESSAGE(sum.optimal << " of " << cases << " are proved optimal, of these " << of_five
                      << " on five devices, " << under_limit << " under a limit, " << divided
                      << " with an uneven division; of " << sum.layouts << " divisions, "
                      << sum.undecided << " are undecided");
  CHECK(100 * sum.undecided <= sum.layouts);
  CHECK(3 * sum.optimal > cases);
  CHECK(10 * of_five > cases);
  CHECK(20 * under_limit > cases);
  CHECK(10 * divided > cases);
}

TEST_CASE("no placement, set of stages that recompute or cut of sequences is better than the optimum") {
  int const cases = many_cases(40, 10'000);
  int recomputing = 0, cut = 0, folded = 0;
  claims sum;
  FOR_SEEDS(static_cast<std::uint64_t>(cases)) {
    CAPTURE(seed);
    int const p = d.between(2, 4);
    std::vector<layout_choice> const choices = some_variants(d, p, d.between(1, 3));
    for (layout_choice const& one : choices)
      recomputing += recomputed_stages(one.problem).empty() ? 0 : 1;
    if (choices.empty()) continue;
    std::optional<searched_layout> const best = judged(sum, choices, some_budget(d, seed));
    if (!best) continue;
    cut += best->choice.sequence_chunks > 1 ? 1 : 0;
    folded += best->choice.problem.where.stage_count() > p ? 1 : 0;
  }
  MESSAGE(sum.optimal << " of " << cases << " are proved optimal, of these " << cut << " cut sequences, "
                      << folded << " have two stages on each device; of " << sum.layouts << " layouts, "
                      << recomputing << " recompute and " << sum.undecided << " are undecided");
  CHECK(20 * sum.undecided <= sum.layouts);
  CHECK(4 * sum.optimal > cases);
  CHECK(20 * recomputing > sum.layouts);
  CHECK(20 * cut > cases);
  CHECK(20 * folded > cases);
}

}  // namespace

// Checks what a search claims to be optimal, or no less than, against every order of tiny problems: over
// layouts, sets of stages that recompute, sequences in chunks, and divisions of layers.
#include "exhaustive_search.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/search/layouts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace random_case;

namespace {

stage_cost tiny_cost(dice& d) { return {d.between(1, 5), d.between(1, 5), d.between(1, 5)}; }

// One layout or several of the same model, under a limit that leaves some of them no schedule.
std::vector<layout_choice> tiny_layouts(dice& d) {
  model_share const model{.p = devices{d.between(1, 2)},
                          .m = micro_batches{d.between(1, 3)},
                          .cost = costs(tiny_cost(d), d.between(0, 3))};
  int const percent = 10 * d.between(4, 15);
  variety const how{.kept_percent = {d.percent(30) ? 50 : 100},
                    .most_sequence_chunks = d.percent(20) && model.m.value == 1 ? 2 : 1};
  std::vector<layout_choice> all;
  for (placement_kind const shape : {placement_kind::linear, placement_kind::v, placement_kind::looped})
    if (d.percent(60))
      for (layout_choice& c : variants_of(
               choose_layout(model, shape, shape == placement_kind::linear ? 1 : 2, percent), how))
        all.push_back(c);
  return all;
}

// Some divisions of the layers of one model, also such as nobody would choose.
std::vector<layout_choice> tiny_divisions(dice& d) {
  int const p = d.between(1, 3), layer_count = p + d.between(0, 3);
  link_speed const link{.latency = d.between(0, 2)};
  layer_chain model{.m = micro_batches{d.between(1, 2)},
                    .layers = {},
                    .on = {.links = {.inside = link, .between = link}},
                    .budget = {d.between(layer_count, 3 * layer_count)}};
  for (int i = 0; i < layer_count; ++i) model.layers.push_back({.cost = tiny_cost(d)});
  layout_choice const plain =
      choose_layout({devices{p}, model.m, {pass_costs(), model.on}}, placement_kind::linear, 1, 100);
  std::vector<layout_choice> all;
  for (int i = d.between(1, 3); i > 0; --i) {
    std::vector<int> sizes(static_cast<std::size_t>(p), 1);
    for (int more = layer_count - p; more > 0; --more)
      ++sizes[static_cast<std::size_t>(d.between(0, p - 1))];
    all.push_back(with_layers(model, plain, sizes, layer_division::none));
  }
  return all;
}

// All divisions of few layers, alike or not, on up to five devices.
std::vector<layout_choice> all_divisions(dice& d) {
  int const p = d.between(2, 5), layer_count = p + d.between(0, p == 5 ? 1 : 2);
  layer_chain model{.m = micro_batches{d.between(1, p < 4 ? 4 : 2)},
                    .layers = {},
                    .budget = {static_cast<byte_count>(layer_count) * d.between(1, 4)}};
  stage_cost const alike = tiny_cost(d);
  bool const is_uneven = d.percent(50);
  for (int i = 0; i < layer_count; ++i)
    model.layers.push_back({.cost = is_uneven ? tiny_cost(d) : alike});
  layout_choice const plain =
      choose_layout({devices{p}, model.m, {pass_costs(), model.on}}, placement_kind::linear, 1, 100);
  std::vector<layout_choice> const all = divisions_of(model, plain);
  REQUIRE(static_cast<std::int64_t>(all.size()) == division_count(layer_count, p));
  return all;
}

// The shortest of all orders, in ticks of the layout; -1 if there are too many.
tick shortest(searched_layout const& s) {
  using exhaustive_search::search;
  search_problem const& problem = s.choice.problem;
  workload const w{.where = problem.where,
                   .micro_batch_count = problem.m.value * problem.sequence_chunks,
                   .cost = problem.cost,
                   .limit = problem.limit,
                   .sequence_chunks = problem.sequence_chunks};
  return search(w, true).least(s.aim == objective::span ? search::aim::span : search::aim::makespan,
                               s.least(), 20'000);
}

TEST_CASE("what is said to be optimal is no longer than any order on any layout that was searched") {
  int solved = 0, optimal = 0, lower_elsewhere = 0;
  int const cases = many_cases(400, 50'000);
  FOR_SEEDS(static_cast<std::uint64_t>(cases)) {
    CAPTURE(seed);
    std::vector<layout_choice> choices = d.percent(60)   ? tiny_layouts(d)
                                         : d.percent(60) ? tiny_divisions(d)
                                                         : all_divisions(d);
    std::erase_if(choices, [](layout_choice const& c) { return !check(c.problem).ok(); });
    if (choices.empty()) continue;
    search_budget const budget{.passes = d.between(100, 2'000),
                               .seed = seed,
                               .aim = d.percent(50) ? objective::span : objective::makespan};
    std::vector<searched_layout> const all = search_layouts(choices, budget);
    proved_layouts const proof = proved_of(all);
    searched_layout const& best = all[proof.best];
    CHECK((proof.gap >= 0 && proof.is_optimal == (proof.gap == 0)));
    CHECK(proof.least <= best.result.reached);
    optimal += proof.is_optimal ? 1 : 0;
    lower_elsewhere += best.is_optimal() && !proof.is_optimal ? 1 : 0;
    for (searched_layout const& s : all) {
      CHECK(check(s.result.best).ok());
      CHECK(is_within(s.result.best, s.choice.problem.limit));
      tick const least = shortest(s);
      if (least < 0) continue;
      ++solved;
      CHECK(s.least() <= least);
      CHECK(least <= s.result.reached);
      tick const unit = s.choice.unit, own = best.choice.unit;
      CHECK(proof.least * unit <= least * own);
      if (proof.is_optimal) CHECK(best.result.reached * unit <= least * own);
    }
  }
  MESSAGE(optimal << " of " << cases << " are proved optimal, in " << lower_elsewhere
                  << " another layout's bound is lower; " << solved << " layouts solved");
  CHECK(solved > cases);
  CHECK(3 * optimal > cases);
  CHECK(20 * lower_elsewhere > cases / 10);
}

}  // namespace

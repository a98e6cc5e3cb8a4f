// Checks what a search over all ways to divide a tiny model claims to be optimal, against every order of
// each: all divisions of its layers, with every set of stages that recompute, with whole and with cut
// sequences. A claim about some of these ways is no claim about the others.
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
#include <limits>
#include <optional>
#include <utility>
#include <vector>

using namespace random_case;

namespace {

layer_chain tiny_chain(dice& d, int p) {
  int const layer_count = p + d.between(0, 2);
  link_speed const link{.latency = d.between(0, 2)};
  layer_chain model{.m = micro_batches{d.between(1, 2)},
                    .layers = {},
                    .on = {.links = {.inside = link, .between = link}},
                    .message = 0,
                    .budget = {d.between(layer_count / p, 2 * layer_count)}};
  for (int i = 0; i < layer_count; ++i)
    model.layers.push_back({.cost = {d.between(1, 4), d.between(1, 4), d.between(1, 4)},
                            .resident = d.percent(20) ? 1 : 0,
                            .stash = d.between(1, 2)});
  return model;
}

// Every way to divide the layers over stages, at least one each.
std::vector<std::vector<int>> all_divisions(int layer_count, int stage_count) {
  if (stage_count == 1) return {{layer_count}};
  std::vector<std::vector<int>> found;
  for (int first = 1; first <= layer_count - stage_count + 1; ++first)
    for (std::vector<int> rest : all_divisions(layer_count - first, stage_count - 1)) {
      rest.insert(rest.begin(), first);
      found.push_back(std::move(rest));
    }
  return found;
}

// Every set of stages.
std::vector<std::vector<int>> all_sets(int stage_count) {
  std::vector<std::vector<int>> found;
  for (int bits = 0; bits < 1 << stage_count; ++bits) {
    std::vector<int>& set = found.emplace_back();
    for (int stage = 0; stage < stage_count; ++stage)
      if ((bits >> stage & 1) != 0) set.push_back(stage);
  }
  return found;
}

// The shortest of the orders of a layout, in ticks of which the model's are `unit`; none if they are too
// many.
std::optional<tick> shortest_on(layout_choice const& c, objective aim, tick enough) {
  search_problem const& problem = c.problem;
  workload const w{.where = problem.where,
                   .micro_batch_count = problem.m.value * problem.sequence_chunks,
                   .cost = problem.cost,
                   .limit = problem.limit,
                   .sequence_chunks = problem.sequence_chunks};
  using exhaustive_search::search;
  tick const least = search(w, true).least(
      aim == objective::span ? search::aim::span : search::aim::makespan, enough, 20'000);
  return least < 0 ? std::nullopt : std::optional<tick>(least);
}

TEST_CASE("no division, set of stages that recompute or cut of sequences is better than the optimum") {
  int const cases = many_cases(200, 50'000);
  int complete = 0, optimal = 0, narrower = 0, divided = 0, recomputing = 0, cut = 0;
  FOR_SEEDS(static_cast<std::uint64_t>(cases)) {
    CAPTURE(seed);
    int const p = d.percent(10) ? 3 : d.between(1, 2);
    layer_chain const model = tiny_chain(d, p);
    layout_choice const plain =
        choose_layout({devices{p}, model.m, {pass_costs(), model.on}}, placement_kind::linear, 1, 100);
    variety const how{.kept_percent = {50},
                      .most_sequence_chunks = model.m.value == 1 ? 2 : 1,
                      .recomputed = all_sets(p)};
    std::vector<layout_choice> choices;
    for (std::vector<int> const& sizes : all_divisions(static_cast<int>(model.layers.size()), p))
      for (layout_choice& c : variants_of(with_layers(model, plain, sizes, layer_division::none), how))
        if (check(c.problem).ok()) choices.push_back(std::move(c));
    if (choices.empty()) continue;
    search_budget const budget{.passes = d.between(200, 2'000),
                               .seed = seed,
                               .aim = d.percent(50) ? objective::span : objective::makespan};
    std::vector<searched_layout> const all = search_layouts(choices, budget);
    proved_layouts const proof = proved_of(all);
    searched_layout const& best = all[proof.best];

    // The shortest of all of them, as a fraction of the model's ticks: layouts have ticks of their own.
    bool is_complete = true;
    double least = std::numeric_limits<double>::infinity();
    for (searched_layout const& s : all) {
      CHECK(is_within(s.result.best, s.choice.problem.limit));
      std::optional<tick> const shortest = shortest_on(s.choice, s.aim, s.least());
      is_complete = is_complete && shortest.has_value();
      if (!shortest) continue;
      CHECK((s.least() <= *shortest && *shortest <= s.result.reached));
      least = std::min(least, s.in_ticks(*shortest));
      if (proof.is_optimal) CHECK(best.result.reached * s.choice.unit <= *shortest * best.choice.unit);
    }
    if (is_complete) CHECK(best.in_ticks(proof.least) <= least);
    complete += is_complete ? 1 : 0;
    if (!proof.is_optimal) continue;
    ++optimal;
    if (is_complete) CHECK(best.in_ticks(best.result.reached) == doctest::Approx(least));
    divided += best.choice.layers.front() != best.choice.layers.back() ? 1 : 0;
    recomputing += recomputed_stages(best.choice.problem).empty() ? 0 : 1;
    cut += best.choice.sequence_chunks > 1 ? 1 : 0;

    // Only one way was searched: its optimum is claimed for it alone, because another may be shorter.
    std::vector<searched_layout> const one = search_layouts({choices.front()}, budget);
    narrower += proved_of(one).is_optimal
                        && one[0].in_ticks(one[0].result.reached) > best.in_ticks(best.result.reached)
                    ? 1
                    : 0;
  }
  MESSAGE(optimal << " of " << cases << " are proved optimal, " << complete << " solved; the best has an"
                  << " uneven division in " << divided << ", recomputes in " << recomputing
                  << ", cuts sequences in " << cut << "; the first way alone has a longer optimum in "
                  << narrower);
  CHECK(2 * complete > cases);
  CHECK(4 * optimal > cases);
  CHECK(10 * divided > cases);
  CHECK(100 * recomputing > cases);
  CHECK(100 * cut > cases);
  CHECK(20 * narrower > cases);
}

}  // namespace

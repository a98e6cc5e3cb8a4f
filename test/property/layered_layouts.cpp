// Properties of layers divided into stages and searched: over layers, layouts and limits, against every
// division there is.
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/search/layouts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace random_case;

namespace {

layer_chain random_model(dice& d, int layer_count, int p) {
  layer_chain model{.m = micro_batches{d.between(2, 5)}, .layers = {}, .budget = {}};
  byte_count stashes = 0, residents = 0;
  for (int i = 0; i < layer_count; ++i) {
    model.layers.push_back({.cost = {d.between(1, 6), d.between(1, 6), d.between(1, 6)},
                            .resident = d.percent(50) ? d.between(0, 5) : 0,
                            .stash = d.between(1, 4)});
    stashes += model.layers.back().stash;
    residents += model.layers.back().resident;
  }
  tick const latency = d.between(0, 2);
  model.on.links = {.inside = {latency}, .between = {latency}};
  if (d.percent(40))
    for (int device = 0; device < p; ++device) model.on.speeds.push_back(d.between(40, 100));
  model.budget = {residents + stashes * d.between(1, 3)};
  return model;
}

// Finds all ways to cut `layers` layers into `stages` stages.
void cut(int layers, int stages, std::vector<int>& sizes, std::vector<std::vector<int>>& all) {
  if (stages == 1) {
    all.push_back(sizes);
    all.back().push_back(layers);
    return;
  }
  for (int first = 1; first + stages - 1 <= layers; ++first) {
    sizes.push_back(first);
    cut(layers - first, stages - 1, sizes, all);
    sizes.pop_back();
  }
}

// The time of a stage on its device, added up by itself.
tick time_of(layer_chain const& model, layout_choice const& c, int stage, pass_kind kind) {
  std::size_t first = 0;
  for (int s = 0; s < stage; ++s)
    first += static_cast<std::size_t>(c.layers[static_cast<std::size_t>(s)]);
  tick sum = 0;
  for (int i = 0; i < c.layers[static_cast<std::size_t>(stage)]; ++i) {
    stage_cost const& one = model.layers[first + static_cast<std::size_t>(i)].cost;
    sum += kind == pass_kind::forward          ? one.forward
           : kind == pass_kind::backward_input ? one.backward_input
                                               : one.backward_weight;
  }
  if (model.on.speeds.empty()) return sum;
  int const percent = model.on.speeds[static_cast<std::size_t>(c.problem.where.device_of(0, stage))];
  return (sum * 100 + percent - 1) / percent;
}

}  // namespace

TEST_CASE(
    "layered layouts: nothing is below its bound, and few divisions come near to the best of all") {
  int as_good = 0, cases = 0;
  FOR_SEEDS(60) {
    CAPTURE(seed);
    int const p = d.between(1, 3), count = d.percent(40) && p < 3 ? 2 : 1;
    int const layer_count = p * count + d.between(0, 3);
    layer_chain const model = random_model(d, layer_count, p);
    layout_choice const plain = choose_layout(
        {devices{p}, model.m, {}}, count == 1 ? placement_kind::linear : placement_kind::v, count, 100);
    search_budget const e{.passes = 15'000, .seed = seed, .aim = objective::span};
    std::vector<layout_choice> const dealt = divisions_of(model, plain);
    REQUIRE_FALSE(dealt.empty());
    CHECK(dealt[0].layers == uniform_partition(layer_count, p * count));
    std::vector<layout_choice> feasible;
    for (layout_choice const& c : dealt)
      if (check(c.problem).ok()) feasible.push_back(c);
    tick best_of_all = max_tick, least_bound = max_tick;
    std::vector<std::vector<int>> all;
    std::vector<int> sizes;
    cut(layer_count, p * count, sizes, all);
    for (std::vector<int> const& one : all) {
      layout_choice const c = with_layers(model, plain, one, layer_division::none);
      if (!check(c.problem).ok()) continue;
      search_result const r = search(c.problem, e);
      CHECK(r.reached >= r.least.span);
      best_of_all = std::min(best_of_all, r.reached);
      least_bound = std::min(least_bound, r.least.span);
    }
    if (feasible.empty()) continue;
    ++cases;
    std::vector<searched_layout> const found =
        search_layouts(feasible, search_budget{.passes = 60'000, .seed = seed, .aim = e.aim});
    searched_layout const& best = found[best_of(found)];
    CHECK(best.result.reached >= least_bound);
    schedule const& s = best.result.best;
    CHECK(check(s).ok());
    CHECK(is_within(s, best.choice.problem.limit));
    CHECK(s.where == plain.problem.where);
    for (std::size_t device = 0; device < s.order.size(); ++device)
      for (timed_pass const t : each_pass(s.order[device]))
        CHECK(s.end_of(t, static_cast<int>(device)) - t.start
              == time_of(model, best.choice, t.what.stage, t.what.kind));
    as_good += best.result.reached <= best_of_all ? 1 : 0;
  }
  MESSAGE(as_good << " of " << cases << " as short as the best of all divisions");
  CHECK(cases > 40);
  CHECK(10 * as_good >= 8 * cases);
}

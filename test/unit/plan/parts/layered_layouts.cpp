#include <ashlar/plan/parts/layered_layouts.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

using namespace shapes;

namespace {

layer_share layer_of(tick time, byte_count stash = 1, byte_count resident = 0) {
  return {.cost = {time, time, time}, .resident = resident, .stash = stash};
}
layer_chain of_times(std::vector<tick> const& times, std::vector<byte_count> budget) {
  layer_chain model{.m = micro_batches{1}, .layers = {}, .budget = budget};
  for (tick const time : times) model.layers.push_back(layer_of(time));
  return model;
}
layout_choice on_line(int p) {
  return choose_layout({devices{p}, micro_batches{1}, {}}, placement_kind::linear, 1, 100);
}
std::vector<std::vector<int>> sizes_of(std::vector<layout_choice> const& all) {
  std::vector<std::vector<int>> sizes;
  for (layout_choice const& c : all) sizes.push_back(c.layers);
  return sizes;
}

TEST_CASE("layers divided into stages add up") {
  layer_chain model{.m = micro_batches{5},
                    .layers = {{{1, 2, 3}, 10, 4}, {{4, 5, 6}, 20, 5}, {{7, 8, 9, 1}, 30, 6}},
                    .on = {.links = {.inside = {2}, .between = {2}}},
                    .budget = {100, 200}};
  layout_choice const c = with_layers(
      model, choose_layout({devices{2}, micro_batches{1}, {}}, placement_kind::linear, 1, 50), {2, 1},
      layer_division::balanced);
  CHECK((c.unit == 1 && c.memory_unit == 1 && c.layers == std::vector<int>{2, 1}));
  CHECK(c.problem.cost.passes == pass_costs::by_stage({{5, 7, 9}, {7, 8, 9, 1}}));
  CHECK((c.problem.cost.on.links.inside.latency == 2 && c.problem.m.value == 5));
  CHECK((c.problem.limit.memory.of(0).resident() == 30 && c.problem.limit.memory.of(0).stash == 9));
  CHECK((c.problem.limit.memory.of(1).resident() == 30 && c.problem.limit.memory.of(1).stash == 6));
  CHECK(c.problem.limit.budget == std::vector<byte_count>{100, 200});
  layout_choice const halves =
      choose_layout({devices{1}, micro_batches{1}, {}}, placement_kind::v, 2, 50);
  model.budget = {100};
  CHECK(halves.unit == 2);  // of a p-th of the model; layers have ticks of their own
  CHECK(with_layers(model, halves, {2, 1}, layer_division::balanced).unit == 1);
}

TEST_CASE("layers divided evenly and by time") {
  layer_chain const alike = of_times({1, 1, 1, 1}, {100});
  CHECK(sizes_of(divisions_of(alike, on_line(2), 0)) == std::vector<std::vector<int>>{{2, 2}});
  layer_chain const heavy_end = of_times({1, 1, 1, 1, 1, 1, 4}, {100});
  auto const found = divisions_of(heavy_end, on_line(2), 0);
  CHECK((found.size() == 2 && found[0].layers == std::vector<int>{4, 3}));
  CHECK((found[0].division == layer_division::even && found[1].division == layer_division::balanced));
  CHECK((found[1].layers == std::vector<int>{5, 2} || found[1].layers == std::vector<int>{6, 1}));
}

TEST_CASE("layers are not divided for costs that no schedule may have") {
  layer_chain model = of_times({1, 1, 1, 1}, {100});
  model.on.speeds = {0, 100};
  CHECK_THROWS_AS(layouts_for(model, devices{2}), violation);
}

// A device of a V has a stage of each half: heavy layers at one end are balanced at the other.
TEST_CASE("the busiest device, not the longest stage") {
  layer_chain model = of_times({6, 1, 1, 1, 1, 1, 1, 6}, {100});
  model.on.speeds = {100, 50};
  layout_choice const v = choose_layout({devices{2}, micro_batches{1}, {}}, placement_kind::v, 2, 100);
  tick even = 0, least = max_tick;
  for (layout_choice const& c : divisions_of(model, v, 0)) {
    tick const busiest = plan_detail::busiest_of(c.problem);
    (c.division == layer_division::even ? even : least) = busiest;
  }
  CHECK(least < even);
}

// Each would get one layer by time; but the first device has room for no more than one of the stashes.
TEST_CASE("layers go where there is room") {
  layer_chain model{.m = micro_batches{1}, .layers = {}, .budget = {12, 40}};
  for (byte_count const stash : {6, 6, 1, 1}) model.layers.push_back(layer_of(2, stash, 2));
  model.layers[0].resident = 4;
  auto const found = divisions_of(model, on_line(2), 120, 0);
  CHECK_FALSE(check(found[0].problem).ok());
  CHECK(check(found.back().problem).ok());
  CHECK(found.back().layers == std::vector<int>{1, 3});
  CHECK(found.back().division == layer_division::by_bound);
}

TEST_CASE("layered layouts: few divisions are all there, each once") {
  layer_chain const model = of_times({1, 1, 1, 1, 1, 1}, {100});
  auto sizes = sizes_of(divisions_of(model, on_line(4)));
  CHECK(sizes.size() == 10);
  CHECK(division_count(6, 4) == 10);
  for (auto const& each : sizes) CHECK(std::accumulate(each.begin(), each.end(), 0) == 6);
  std::sort(sizes.begin(), sizes.end());
  CHECK(std::adjacent_find(sizes.begin(), sizes.end()) == sizes.end());
  CHECK(divisions_of(model, on_line(4), 120, 9).size() <= 3);
  CHECK(division_count(30, 4) == 3654);
  CHECK(division_count(3, 4) == 0);
  CHECK(division_count(5, 1) == 1);
  CHECK(division_count(1000, 500) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("layered layouts: what cannot be dealt") {
  layer_chain const model = of_times({1, 1, 1}, {100});
  layout_choice const plain = on_line(2);
  CHECK_BREAKS(tables_agree, with_layers(model, plain, {1, 1}, layer_division::even));
  CHECK_BREAKS(tables_agree, with_layers(model, plain, {1, 1, 1}, layer_division::even));
  CHECK_BREAKS(parameter_is_at_least, divisions_of(model, on_line(4)));
  std::vector<layout_choice> const all = layouts_for(model, devices{2});
  CHECK_FALSE(all.empty());
  for (layout_choice const& c : all)
    CHECK(c.shape == placement_kind::linear);  // the others have more stages
}

}  // namespace

// The memory curve: its highest step is the peak, its area the sum of all lifespans.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include <ashlar/render/activations.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

void check_curve(schedule const& s) {
  auto const curves = held_activations(s);
  std::vector<int> const peaks = peak_activations(s);
  REQUIRE(curves.size() == peaks.size());
  for (std::size_t d = 0; d < curves.size(); ++d) {
    int highest = 0;
    tick area = 0;
    for (std::size_t i = 0; i < curves[d].size(); ++i) {
      highest = std::max(highest, curves[d][i].held);
      if (i == 0) continue;
      CHECK(curves[d][i].time > curves[d][i - 1].time);
      CHECK(curves[d][i].held != curves[d][i - 1].held);
      area += curves[d][i - 1].held * (curves[d][i].time - curves[d][i - 1].time);
    }
    CHECK(highest == peaks[d]);
    if (!curves[d].empty()) CHECK(curves[d].back().held == 0);
    tick lifespans = 0;
    for (timed_pass const t : each_pass(s.order[d])) {
      if (t.what.kind == pass_kind::forward) lifespans -= t.start;
      if (gives_weight_gradient(t.what.kind)) lifespans += s.end_of(t, static_cast<int>(d));
    }
    CHECK(area == lifespans);
  }
}

}  // namespace

TEST_CASE("the curve of every catalog entry") {
  for (costs const& cost : {costs{}, costs(stage_cost{3, 2, 4}, 1)})
    for (catalog_case const& c : catalog_cases({1, 2, 4}, {8}, cost)) {
      CAPTURE(c);
      if (schedule const s = c.schedule(); s.mode == execution_mode::training) check_curve(s);
    }
}

TEST_CASE("steps of 1F1B on two devices") {
  auto const curves = held_activations(shapes::one_f_one_b(2, 2));
  auto const is = [](std::vector<held_step> const& curve, std::vector<std::pair<tick, int>> expected) {
    std::vector<std::pair<tick, int>> steps;
    for (held_step const& step : curve) steps.emplace_back(step.time, step.held);
    return steps == expected;
  };
  CHECK(is(curves[0], {{0, 1}, {1, 2}, {6, 1}, {9, 0}}));
  CHECK(is(curves[1], {{1, 1}, {7, 0}}));  // frees and fills at tick 4
}

TEST_CASE("without backward passes nothing outlives its forward") {
  schedule s = shapes::one_f_one_b(2, 3);
  for (auto& order : s.order)
    std::erase_if(order, [](time_slot const& t) { return t.what.kind == pass_kind::backward; });
  for (auto const& curve : held_activations(s))
    for (held_step const& step : curve) CHECK(step.held <= 1);
  CHECK(held_activations(s)[1].back().held == 0);
}

#include <ashlar/search/portfolio.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/check_schedule.hpp>

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

constexpr bool test_layouts() {
  devices const p{4};
  HOLDS(lay_out(layout::linear, p, 1) == linear(p) && lay_out(layout::v, p, 2) == v_shape(p));
  HOLDS(lay_out(layout::looped, p, 3) == looped(p, chunks{3}));
  HOLDS(lay_out(layout::wave, p, 4) == wave(p, waves{2}));
  return true;
}
BOTH_TIMES("layouts", test_layouts)

constexpr bool test_choice() {
  model_share const model{devices{4}, micro_batches{8}, {20, 26, 14}, 3};
  layout_choice const c = choose_layout(model, layout::wave, 4, 75);
  HOLDS(c.unit == 4 && c.chunk_count == 4 && c.problem.where == wave(devices{4}, waves{2}));
  // A quarter of the work a chunk, in ticks a quarter as long; a transfer takes as long as ever.
  HOLDS(c.problem.cost == costs(stage_cost{20, 26, 14}, 12));
  HOLDS(c.problem.limit == memory_limit{12});  // three quarters of 4 micro-batches of 4 chunks
  HOLDS(choose_layout(model, layout::linear, 1, 100).problem.limit == memory_limit{4});
  HOLDS(choose_layout(model, layout::linear, 1, 70).problem.limit == memory_limit{2});  // whole ones
  return true;
}
BOTH_TIMES("the same model, cut finer", test_choice)

constexpr bool test_what_fits() {
  model_share const model{devices{4}, micro_batches{8}, {20, 26, 14}, 3};
  auto const shapes_for = [&](int percent) {
    std::vector<layout> found;
    for (layout_choice const& c : layouts_for(model, percent)) found.push_back(c.shape);
    return found;
  };
  using enum layout;
  HOLDS(shapes_for(100) == std::vector<layout>{linear, v, looped, looped, wave});
  HOLDS(shapes_for(25) == std::vector<layout>{linear, v, looped, looped, wave});
  HOLDS(shapes_for(24).empty());  // less than one micro-batch
  return true;
}
BOTH_TIMES("layouts that the memory leaves a schedule for", test_what_fits)

// The work of a device is the same in all of them, in units of the model.
TEST_CASE("layouts compare in the model's ticks") {
  model_share const model{devices{4}, micro_batches{8}, {20, 26, 14}, 1};
  for (int percent : {50, 100})
    for (layout_choice const& c : layouts_for(model, percent)) {
      search_result const r = search(c.problem, {.passes = 60'000, .aim = objective::span});
      CHECK(check(r.best).ok());
      std::vector<tick> const work = busy(r.best);
      for (tick w : work) CHECK(w == 8 * 60 * c.unit);
      CHECK(r.reached >= 8 * 60 * c.unit);
      CHECK(is_within(r.best, c.problem.limit));
    }
}

}  // namespace

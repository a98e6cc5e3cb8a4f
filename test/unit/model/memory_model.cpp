#include <ashlar/model/memory_model.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/optimize/improve.hpp>

using namespace shapes;

namespace {

constexpr bool test_change() {
  memory_limit const counted = 3;
  HOLDS(counted.on(0) == 3 && counted.on(7) == 3);
  HOLDS(counted.change({F, 2, 0}) == 1 && counted.change({B, 2, 0}) == -1);
  HOLDS(counted.change({I, 2, 0}) == 0 && counted.change({W, 2, 0}) == -1);
  HOLDS(counted.change({R, 2, 0}) == 0 && counted.change({pass_kind::work, 2, 0}) == 0);

  memory_limit const bytes({100, 200}, {10, 20, 30}, {4, 20, 0});
  HOLDS(bytes.on(0) == 100 && bytes.on(1) == 200);
  for (int stage = 0; stage < 3; ++stage) {
    HOLDS(bytes.change({F, stage, 0}) == 10 * (stage + 1));
    HOLDS(bytes.change({F, stage, 0}) + bytes.change({B, stage, 0}) == 0);
    HOLDS(bytes.change({F, stage, 0}) + bytes.change({I, stage, 0}) + bytes.change({W, stage, 0}) == 0);
  }
  HOLDS(bytes.change({I, 0, 0}) == -6 && bytes.change({I, 1, 0}) == 0 && bytes.change({I, 2, 0}) == -30);
  HOLDS(bytes == bytes && !(bytes == counted));
  return true;
}
BOTH_TIMES("what passes take and give back", test_change)

constexpr bool test_feasible() {
  placement const v = v_shape(devices{3});  // stages 0 5, 1 4, 2 3
  HOLDS(check_feasible(v, 2).ok());
  diagnosis const d = check_feasible(v, 1);
  HOLDS(d.broken == rule::parameter_is_at_least && d.which == parameter::activation_limit);
  HOLDS(d.first.device == 0 && d.number == 2 && d.given == 1);

  memory_limit bytes({26, 27, 28}, {1, 2, 4, 8, 16, 32}, {0});
  for (int device = 0; device < 3; ++device)
    HOLDS(smallest_memory_limit(v, bytes, device) == (device == 0 ? 33 : device == 1 ? 18 : 12));
  diagnosis const e = check_feasible(v, bytes);
  HOLDS(e.first.device == 0 && e.number == 33 && e.given == 26);
  bytes.of_device = {33, 17, 12};
  HOLDS(check_feasible(v, bytes).first.device == 1 && check_feasible(v, bytes).number == 18);
  bytes.of_device = {33, 18, 12};
  HOLDS(check_feasible(v, bytes).ok());
  // Of two routes the one that needs more.
  HOLDS(smallest_memory_limit(overlay(linear(devices{2}), mirror(linear(devices{2}))),
                              {{9}, {3, 5}, {3, 5}}, 0)
        == 5);
  return true;
}
BOTH_TIMES("the first device that has too little, and the least that it needs", test_feasible)

constexpr bool test_recomputed() {
  placement const v = v_shape(devices{2});  // stages 0 3, 1 2
  memory_limit const bytes = keeping({{24, 40}, {10, 20}, {4}}, 4, {}, {1});
  HOLDS(bytes.kept == bytes.activation);
  memory_limit const m = keeping({{24}, {10}, {4}}, 4, {0, 2}, {3});
  HOLDS(keeping({{24}, {10}, {4}}, 4, {0, 2}, {3, 9, 2, 9}).kept
        == std::vector<std::int64_t>{3, 10, 2, 10});
  HOLDS(m.kept == std::vector<std::int64_t>{3, 10, 3, 10});
  HOLDS(m.recomputes(0) && !m.recomputes(1) && m.recomputes(2) && !m.recomputes(3));
  HOLDS(m.change({F, 0, 0}) == 3 && m.change({R, 0, 0}) == 7 && m.change({I, 0, 0}) == -6);
  HOLDS(m.change({F, 1, 0}) == 10 && m.change({R, 1, 0}) == 0);
  // Device 0: both forwards take 13, the recompute comes when stage 3 is through; device 1: 1 and 2 of
  // which 2 is recomputed while 1 is held.
  HOLDS(smallest_memory_limit(v, m, 0) == 13 && smallest_memory_limit(v, m, 1) == 20);
  HOLDS(smallest_memory_limit(v, m, 0, 3) == 39 && smallest_memory_limit(v, m, 1, 3) == 3 * 13 + 7);
  HOLDS(check_feasible(v, m).ok() && check_feasible(v, m, 3).number == 39);
  HOLDS(m.least_held(0, F, W) == 3 && m.least_held(1, F, W) == 4 && m.least_held(1, F, I) == 10);
  HOLDS(m.least_held(0, F, I) == 3 && m.least_held(0, R, I) == 10 && m.least_held(0, R, W) == 4);
  HOLDS(check_feasible(v, {{50}, {10}, {4}, {1, 2}}).broken == rule::tables_agree);
  return true;
}
BOTH_TIMES("what recomputes keeps less until then", test_recomputed)

constexpr bool test_tables() {
  placement const v = v_shape(devices{2});
  HOLDS(check_feasible(v, {{8, 8, 8}, {1}, {1}}).broken == rule::tables_agree);
  HOLDS(check_feasible(v, {{8, 8, 8}, {1}, {1}}).number == 3);
  HOLDS(check_feasible(v, {{8}, {1, 1}, {1}}).broken == rule::tables_agree);
  HOLDS(check_feasible(v, {{8}, {1}, {1, 1, 1}}).number == 3);
  HOLDS(check_feasible(v, {{8, 8}, {1, 1, 1, 1}, {1, 1, 1, 1}}).ok());
  HOLDS(check_feasible(v, {{90}, {5, 4, 5, 5}, {5}}).broken == rule::sizes_fit);
  HOLDS(check_feasible(v, {{90}, {5, 4, 5, 5}, {5}}).first.what.stage == 1);
  HOLDS(check_feasible(v, {{90}, {5}, {-1}}).number == -1);
  HOLDS(check_feasible(v, {{90}, {5}, {5}, {6}}).number == 6);
  return true;
}
BOTH_TIMES("tables of other lengths are refused", test_tables)

TEST_CASE("a stage that there is not keeps nothing") {
  CHECK_BREAKS(every_pass_is_known, keeping(3, 4, {0, 4}, {0}));
  CHECK_BREAKS(every_pass_is_known, keeping(3, 4, {-1}, {0}));
}

// Once the input passes are through, there is room for the second micro-batch before the weight passes.
constexpr bool test_partial_release() {
  schedule s = split_backward(one_f_one_b(1, 2));
  s.order[0] = {{{F, 0, 0}, 0}, {{I, 0, 0}, 1}, {{F, 0, 1}, 2},
                {{I, 0, 1}, 3}, {{W, 0, 0}, 4}, {{W, 0, 1}, 5}};
  memory_limit const part({5}, {4}, {1}), all({5}, {4}, {4});
  HOLDS(is_within(s, part) && !is_within(s, all));
  HOLDS(is_within(s, {{8}, {4}, {4}}) && !is_within(s, {{4}, {4}, {1}}));
  list_scheduler with_part(s, part), with_all(s, all);
  list_scheduler::timeline t;
  HOLDS(with_part.run(with_part.passes().orders, {}, {}, t) && timed(s, with_part.passes(), t) == s);
  HOLDS(with_part.run_reversed(with_part.passes().orders, {}, {}, t)
        && timed(s, with_part.passes(), t) == s);
  HOLDS(!with_all.run(with_all.passes().orders, {}, {}, t));
  HOLDS(with_all.run(with_all.passes().orders, {.window = 6}, {}, t));
  HOLDS(is_within(timed(s, with_all.passes(), t), all) && t.makespan == 6);
  return true;
}
BOTH_TIMES("what an input pass gives back can be used at once", test_partial_release)

}  // namespace

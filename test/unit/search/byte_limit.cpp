#include <ashlar/search/byte_limit.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/search/search.hpp>

#include <vector>

using namespace shapes;

namespace {

constexpr bool test_limit_in_bytes() {
  placement const v = v_shape(devices{2});  // stages 0 3, 1 2
  std::vector<stage_memory> const alike{{.resident = 35, .stash = 7, .left = 3}};
  HOLDS(resident_bytes(v, alike, 0) == 70 && resident_bytes(v, alike, 1) == 70);
  HOLDS(limit_in_bytes(v, alike, {100}) == memory_limit({30, 30}, {7}, {3}));
  HOLDS(limit_in_bytes(v, alike, {100, 84}) == memory_limit({30, 14}, {7}, {3}));
  HOLDS(check_feasible(v, limit_in_bytes(v, alike, {100, 84})).ok());

  // What is resident leaves too little, or is too large by itself.
  diagnosis const d = check_feasible(v, limit_in_bytes(v, alike, {100, 83}));
  HOLDS(d.first.device == 1 && d.number == 14 && d.given == 13);
  HOLDS(check_feasible(v, limit_in_bytes(v, alike, {60})).given == -10);

  std::vector<stage_memory> each(4, {.resident = 35, .stash = 7});
  each[3] = {.resident = 135, .stash = 9, .left = 0};  // a vocabulary on device 0
  HOLDS(resident_bytes(v, each, 0) == 170 && resident_bytes(v, each, 1) == 70);
  HOLDS(limit_in_bytes(v, each, {200}) == memory_limit({30, 130}, {7, 7, 7, 9}, {7, 7, 7, 0}));
  return true;
}
BOTH_TIMES("what is resident leaves the rest of a device's bytes", test_limit_in_bytes)

TEST_CASE("sizes that are none") {
  placement const v = v_shape(devices{2});
  CHECK_BREAKS(tables_agree, limit_in_bytes(v, {{}, {}}, {9}));
  CHECK_BREAKS(tables_agree, limit_in_bytes(v, {{}}, {9, 9, 9}));
  CHECK_BREAKS(sizes_fit, limit_in_bytes(v, {{.stash = 2, .left = 3}}, {9}));
  CHECK_BREAKS(sizes_fit, limit_in_bytes(v, {{.stash = -1}}, {9}));
  CHECK_BREAKS(sizes_fit, limit_in_bytes(v, {{.resident = -1, .stash = 1}}, {9}));
}

// The simulator counts the same bytes slot by slot.
TEST_CASE("what is found within a limit in bytes is within it when simulated") {
  placement const where = v_shape(devices{3});
  costs const cost(stage_cost{10, 13, 7}, 1);
  for (byte_count given : {290, 330, 400}) {
    std::vector<stage_memory> sizes(6, {.resident = 100, .stash = 40});
    sizes[4] = {.resident = 100, .stash = 30};
    std::vector<stage_bytes> simulated(
        6, {.weights = 50, .optimizer_state = 30, .weight_gradient = 20, .stash = 40});
    simulated[4].stash = 30;
    search_problem const problem{.where = where,
                                 .m = micro_batches{6},
                                 .cost = cost,
                                 .limit = limit_in_bytes(where, sizes, {given})};
    search_result const found = search(problem, {.passes = 20'000});
    simulation const run = simulate(lower(found.best), {.cost = cost, .bytes = simulated});
    for (device_memory const& m : run.memory) {
      CHECK(m.resident == 200);
      CHECK(m.peak > 200);
      CHECK(m.peak <= given);
    }
  }
}

}  // namespace

#include <ashlar/schedule/without_devices.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>

using namespace shapes;

namespace {

constexpr bool test_the_last_device_is_lost() {
  schedule const s = one_f_one_b(3, 2);
  schedule const t = without_devices(s, {2});
  return check(t).ok() && t.device_count() == 2 && t.where.device_of(0, 0) == 0
         && t.where.device_of(0, 1) == 1;
}
static_assert(test_the_last_device_is_lost());

TEST_CASE("the others keep their stages, and the lost one's go where the step is shortest") {
  CHECK(test_the_last_device_is_lost());
  schedule const s = one_f_one_b(4, 8);
  for (int lost = 0; lost < 4; ++lost) {
    CAPTURE(lost);
    schedule const t = without_devices(s, {lost});
    CHECK(check(t).ok());
    CHECK(t.device_count() == 3);
    tick shortest = max_tick;
    for (int d = 0; d < 3; ++d) {
      std::vector<int> route;
      for (int stage = 0; stage < 4; ++stage)
        route.push_back(stage == lost ? d : stage - (stage > lost ? 1 : 0));
      shortest = min_of(shortest, makespan(relocate(s, placement(devices{3}, {route}))));
    }
    CHECK(makespan(t) == shortest);
  }
  CHECK(without_devices(s, {}) == s);
  CHECK(check(without_devices(s, {0, 2, 3})).ok());
  CHECK_BREAKS(every_stage_has_a_device, without_devices(s, {4}));
  CHECK_BREAKS(counts_are_positive, without_devices(s, {0, 1, 2, 3}));
}

TEST_CASE("stages leave a device that has become slow") {
  schedule s = catalog::find("depth-first")->make({.p = devices{4}, .m = micro_batches{8}});
  s.cost.on.speeds = {100, 100, 50, 100};
  schedule const slow = squeeze(s);
  schedule const less = without_devices(s, {}, {.more = 1}), least = without_devices(s, {}, {.more = 8});
  CHECK((check(less).ok() && check(least).ok()));
  CHECK(makespan(less) < makespan(slow));
  CHECK(makespan(least) <= makespan(less));
  CHECK(stages_on(less.where, 2).size() == 1);
}

TEST_CASE("of places that are as good, one that has the weights is chosen") {
  // Two pipelines side by side, as routes; the last device of the second is lost.
  schedule s = relocate(one_f_one_b(2, 1), placement(devices{4}, {{0, 1}, {2, 3}}));
  CHECK(without_devices(s, {3}).where.device_of(1, 1) == 1);
  // It is always chosen by the rule, also where another place is better.
  s = relocate(catalog::find("gpipe")->make({devices{2}, micro_batches{8}}),
               placement(devices{5}, {{0, 1}, {2, 3}}));
  CHECK(without_devices(s, {3}).where.device_of(1, 1) == 3);
  schedule const held = without_devices(s, {3}, {.to_holders = true});
  CHECK(held.where.device_of(1, 1) == 1);
  CHECK(makespan(without_devices(s, {3})) < makespan(held));
}

TEST_CASE("routes, speeds and links stay those of the devices that are left") {
  schedule s = catalog::find("chimera")->make({devices{4}, micro_batches{8}});
  s.route = {1, 0, 1, 0, 0, 1, 0, 1};
  s = relocate(s, s.where);
  CHECK(s.route == std::vector<int>{1, 0, 1, 0, 0, 1, 0, 1});
  s.cost.on.speeds = {100, 90, 80, 70};
  s.cost.on.links = {.inside = {.latency = 1},
                     .between = {.latency = 2},
                     .node_size = 2,
                     .exceptions = {{3, 2, {.latency = 5}}, {0, 1, {.latency = 9}}}};
  schedule const t = without_devices(squeeze(s), {0});
  CHECK(t.route == s.route);
  CHECK(t.cost.on.speeds == std::vector<int>{90, 80, 70});
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      if (a != b) CHECK(t.cost.on.links.link(a, b) == s.cost.on.links.link(a + 1, b + 1));
  CHECK(check(t).ok());
}

}  // namespace

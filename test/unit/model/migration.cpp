#include <ashlar/model/migration.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/render/diagnosis.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ashlar;

namespace {

// Stages 0 to 3 on devices 0 to 3; then without device 1, whose stage goes to the last.
constexpr bool test_a_device_less() {
  parameter_groups const before(linear(devices{4})), after(placement(devices{3}, {{0, 2, 1, 2}}));
  migration const m = plan_migration(before.view(), after.view(), {0, 2, 3});
  if (m.moves != std::vector<state_move>{{1, no_device, 2}}) return false;
  if (!check(m, before.view(), after.view()).ok()) return false;
  machine on;
  on.host.speed = {.bandwidth = 4};
  return time_of(m, {10, 12, 10, 10}, on) == 3;
}
static_assert(test_a_device_less());

TEST_CASE("what a device lacks comes from one that has it, and from a checkpoint if none has") {
  CHECK(test_a_device_less());
  // Two routes: each stage is on two devices. Without device 0, its peers have its stages.
  placement const two(devices{4}, {{0, 1}, {2, 3}});
  parameter_groups const before(two), after(placement(devices{3}, {{2, 0}, {1, 2}}));
  std::vector<int> const was{1, 2, 3};
  // Stage 0 goes to what was device 3; stage 1 stays on what were devices 1 and 3.
  migration const m = plan_migration(before.view(), after.view(), was);
  CHECK(m.moves == std::vector<state_move>{{0, 1, 2}});
  CHECK(check(m, before.view(), after.view()).ok());
  // One that has sent much sends no more.
  parameter_groups const all(placement(devices{4}, {{0, 0}, {1, 1}, {2, 3}}));
  migration const spread = plan_migration(
      parameter_groups(placement(devices{4}, {{0, 0}, {1, 1}})).view(), all.view(), {0, 1, 2, 3});
  CHECK(spread.moves == std::vector<state_move>{{0, 0, 2}, {1, 1, 3}});
  machine on;
  on.links.inside = {.latency = 1, .bandwidth = 2};
  CHECK(time_of(spread, {8}, on) == 5);
}

TEST_CASE("a change that reads what is not there, or moves too much, is refused") {
  parameter_groups const before(linear(devices{4})), after(placement(devices{3}, {{0, 2, 1, 2}}));
  migration const good = plan_migration(before.view(), after.view(), {0, 2, 3});
  auto const broken = [&](auto change) {
    migration m = good;
    change(m);
    diagnosis const d = check(m, before.view(), after.view());
    CHECK(!explain(d).empty());
    return d.broken;
  };
  CHECK(broken([](migration& m) { m.moves.clear(); }) == rule::weights_are_resident_when_used);
  CHECK(broken([](migration& m) { m.moves.push_back(m.moves[0]); }) == rule::no_transfer_is_doubled);
  CHECK(broken([](migration& m) {
          m.moves.push_back({0, no_device, 0});
        })
        == rule::no_transfer_is_doubled);
  CHECK(broken([](migration& m) { m.moves[0].from = 0; }) == rule::every_receive_has_its_send);
  CHECK(broken([](migration& m) { m.moves[0].from = 3; }) == rule::every_receive_has_its_send);
  CHECK(broken([](migration& m) { m.moves[0].to = 1; }) == rule::group_is_held_where_it_is_named);
  CHECK(broken([](migration& m) { m.moves[0].group = 4; }) == rule::group_is_held_where_it_is_named);
  CHECK(broken([](migration& m) { m.was[1] = 0; }) == rule::every_stage_has_a_device);
  CHECK(broken([](migration& m) { m.was[1] = 4; }) == rule::every_stage_has_a_device);
  CHECK(broken([](migration& m) { m.was.pop_back(); }) == rule::tables_agree);
  // A device that is new has nothing.
  CHECK(broken([](migration& m) { m.was[0] = no_device; }) == rule::weights_are_resident_when_used);
  CHECK_BREAKS(tables_agree, plan_migration(before.view(), after.view(), {0, 2, 3}, {1, 2}));
  CHECK_BREAKS(tables_agree, time_of(good, {}, {}));
  CHECK_BREAKS(sizes_fit, time_of(good, {-1}, {}));
  for (int const device : {-2, 3}) {
    CHECK_BREAKS(every_receive_has_its_send, time_of(migration{good.was, {{0, device, 1}}}, {1}, {}));
    CHECK_BREAKS(group_is_held_where_it_is_named,
                 time_of(migration{good.was, {{0, 0, device}}}, {1}, {}));
  }
  CHECK_BREAKS(tables_agree, plan_migration(before.view(), after.view(), {0, 2}));
  parameter_groups const fewer(linear(devices{3}));
  CHECK(check(good, before.view(), fewer.view()).broken == rule::tables_agree);
}

}  // namespace

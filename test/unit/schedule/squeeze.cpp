#include <ashlar/schedule/squeeze.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>

using namespace shapes;

namespace {

constexpr bool test_squeezed_one_f_one_b() {
  schedule const s = one_f_one_b(2, 2);
  HOLDS(s.order[0]
        == std::vector<timed_pass>{{{F, 0, 0}, 0}, {{F, 0, 1}, 1}, {{B, 0, 0}, 4}, {{B, 0, 1}, 7}});
  HOLDS(s.order[1]
        == std::vector<timed_pass>{{{F, 1, 0}, 1}, {{B, 1, 0}, 2}, {{F, 1, 1}, 4}, {{B, 1, 1}, 5}});
  HOLDS(squeeze(s) == s);
  HOLDS(retime(s, s.cost) == s);
  return true;
}
BOTH_TIMES("redundant bubbles go, the order stays", test_squeezed_one_f_one_b)

constexpr bool test_fork_join() {
  schedule const s = fork_join() | repeat(micro_batches{1}) | squeeze();
  HOLDS(check(s).ok());
  HOLDS(s.order[1][0].start == 1 && s.order[2][0].start == 1);  // both branches at once
  HOLDS(s.order[3][0].start == 2);
  HOLDS(makespan(s) == 3 * 3);
  schedule const slow = retime(s, costs({{1, 1, 1}, {5, 1, 1}, {1, 1, 1}, {1, 1, 1}}));
  HOLDS(check(slow).ok() && slow.order[3][0].start == 6);  // the join waits for the slow branch
  return true;
}
BOTH_TIMES("a join waits for all its branches", test_fork_join)

constexpr bool test_squeezed_transfers() {
  schedule const s = retime(one_f_one_b(3, 1), costs(stage_cost{}, 10));
  HOLDS(makespan(s) == 3 * 3 + 4 * 10);
  // A hand-over within a device is free.
  schedule const v =
      retime(catalog::find("v-half")->make({devices{1}, micro_batches{3}}), costs(stage_cost{}, 1000));
  HOLDS(makespan(v) == 18);
  return true;
}
BOTH_TIMES("transfers take their time, hand-overs none", test_squeezed_transfers)

constexpr bool test_two_ways() {
  schedule const s = repeat(two_ways(4), micro_batches{4}) | squeeze();
  HOLDS(check(s).ok() && squeeze(s) == s);
  return true;
}
BOTH_TIMES("two routes", test_two_ways)

constexpr bool test_work_waits() {
  schedule s = one_f_one_b(2, 1);
  s.order[1].insert(s.order[1].begin(), {{X, 0, 0}, 0});
  s.work = work_graph({{.parts = {{1, 50}}}}, {});
  s = retime(s, costs(stage_cost{2, 2, 2}));
  HOLDS(check(s).ok() && s.order[1][0].start == 0 && s.order[1][1].start == 50);
  // On device 0 F0 waits for it, as if it handed something on.
  s.work = work_graph({{.parts = {{0, 50}, {1, 50}}}}, {{{X, 0, 0}, {F, 0, 0}}});
  s.order[0].insert(s.order[0].begin(), {{X, 0, 0}, 0});
  s.order[1][0].what = {X, 0, 1};
  s = squeeze(s);
  HOLDS(check(s).ok() && s.order[0][1].start == 50 && s.order[1][1].start == 52);
  return true;
}
BOTH_TIMES("work takes its place and its time, and is waited for", test_work_waits)

constexpr bool test_collective_work() {
  schedule const s = with_norm(one_f_one_b(2, 1));
  // F0 F0 B0 B0, each backward of 2 ticks: they end at 4 and 6; the norm is there a tick later, its sum
  // two.
  HOLDS(s.order[0].back().what == pass{X, 2, 0} && s.order[0].back().start == 6 + 1 + 2);
  HOLDS(s.order[1].back().start == 6 + 1 + 2 && check(s).ok() && squeeze(s) == s);
  schedule t = s;
  t.order[0].pop_back();
  t.order[0].insert(t.order[0].begin(), {{X, 2, 0}, 0});  // before what it needs by way of the sum
  diagnosis const d = order_walk(t).run();
  HOLDS(d.broken == rule::order_has_no_cycle && d.first.what == pass{X, 2, 0});
  HOLDS(d.second.what == pass{X, 0, 1} || d.second.what == pass{X, 0, 0});
  t = s;
  t.order[0].back().what = {X, 1, 0};  // follows by itself
  HOLDS(order_walk(t).run().broken == rule::every_pass_is_known);
  t.order[0].back().what = {X, 3, 0};
  HOLDS(order_walk(t).run().broken == rule::every_pass_is_known);
  t = s;
  t.work = work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 7}, {X, 0, 0}}});
  HOLDS(order_walk(t).run().broken == rule::every_pass_is_known);
  return true;
}
BOTH_TIMES("work that is summed over devices is waited for", test_collective_work)

constexpr bool test_partial() {
  // Inputs that nobody gives count as present.
  schedule const s = squeeze(schedule_from_orders(linear(devices{2}), {0}, {}, {{}, {{B, 1, 0}}}));
  HOLDS(s.order[1][0].start == 0);
  return true;
}
BOTH_TIMES("a part of a schedule", test_partial)

TEST_CASE("orders that wait for each other in a cycle") {
  schedule s = one_f_one_b(2, 1);
  std::swap(s.order[1][0], s.order[1][1]);
  CHECK_BREAKS(order_has_no_cycle, squeeze(s));
  try {
    squeeze(s);
  } catch (violation const& v) {
    CHECK(v.why.first.device == 0);  // whose backward waits for a backward that waits for its forward
    CHECK(v.why.first.what == pass{B, 0, 0});
    CHECK(v.why.second.device == 1);
    CHECK(v.why.second.what == pass{B, 1, 0});
  }
}

TEST_CASE("of a pair in a cycle the pass is named that waits") {
  schedule s = schedule_from_orders(linear(devices{1}), {0, 0}, {},
                                    {{{F, 0, 1}, {B, 0, 0}, {F, 0, 0}, {B, 0, 1}}});
  s.order[0][0].overlaps = s.order[0][1].overlaps = 0;
  try {
    squeeze(s);
    FAIL("squeezed");
  } catch (violation const& v) {
    CHECK(v.why.broken == rule::order_has_no_cycle);
    CHECK(v.why.first.what == pass{B, 0, 0});
    CHECK(v.why.second.what == pass{F, 0, 0});
  }
}

TEST_CASE("passes and costs that cannot be") {
  schedule s = one_f_one_b(2, 1);
  CHECK_BREAKS(tables_agree, retime(s, costs(std::vector<stage_cost>(3))));
  CHECK_BREAKS(tables_agree, retime(s, costs(std::vector<stage_cost>{})));
  s.order[0][0].what.stage = 2;
  CHECK_BREAKS(every_pass_is_known, squeeze(s));
  s.order[0][0].what = {F, 0, -1};
  CHECK_BREAKS(every_pass_is_known, squeeze(s));
}

TEST_CASE("one device, one micro-batch, many of both") {
  CHECK(makespan(one_f_one_b(1, 1)) == 3);
  CHECK(makespan(one_f_one_b(64, 1)) == 3 * 64);
  CHECK(makespan(one_f_one_b(1, 500)) == 1500);
  CHECK(makespan(one_f_one_b(32, 500)) == 3 * (500 + 31));
}

constexpr bool test_pipes() {
  block const b = catalog::one_f_one_b(devices{2});
  auto const squeezed = repeat(micro_batches{3}) | squeeze();  // an operation of its own
  HOLDS((b | squeezed) == squeeze(repeat(b, micro_batches{3})));
  schedule s = repeat(b, micro_batches{3});
  timed_pass const* const passes = s.order[0].data();
  schedule const t = std::move(s) | squeeze() | retime({});
  HOLDS(t.order[0].data() == passes && t == (b | squeezed));  // moved, not copied
  return true;
}
BOTH_TIMES("a schedule is moved through pipes that compose", test_pipes)

constexpr bool test_speeds_and_links() {
  schedule s = one_f_one_b(3, 1);
  s.cost.speeds = {100, 50, 25};
  s.cost.links = {.inside = {.latency = 1}, .between = {.latency = 10}, .node_size = 2};
  s = squeeze(s);
  // Passes of 1, 2 and 4 ticks, messages of 1 and 10.
  HOLDS(s.order[0][0].start == 0 && s.order[1][0].start == 1 + 1 && s.order[2][0].start == 4 + 10);
  HOLDS(s.order[2][1].start == 14 + 4 && s.order[1][1].start == 18 + 8 + 10);
  HOLDS(s.order[0][1].start == 36 + 4 + 1 && makespan(s) == 43);
  HOLDS(check(s).ok() && busy(s) == std::vector<tick>{3, 6, 12});
  s.order[1][0].start = 1;  // before the message is there
  HOLDS(check(s).broken == rule::no_pass_starts_before_its_input && check(s).number == 1);
  s.order[1][0].start = 2;
  s.order[2][0].start = 13;
  HOLDS(check(s).broken == rule::no_pass_starts_before_its_input && check(s).number == 1);
  s = squeeze(s);
  s.cost.speeds = {100, 50};
  HOLDS(check(s).broken == rule::tables_agree && check(s).number == 2);
  return true;
}
BOTH_TIMES("each device takes its own time, each link its own", test_speeds_and_links)

TEST_CASE("costs of other devices are refused") {
  costs c;
  c.speeds = {100, 100, 100};
  CHECK_BREAKS(tables_agree, retime(one_f_one_b(2, 2), c));
}

// Replicas of a stage on unequal devices: each works as long as its own passes take there.
TEST_CASE("both directions on devices of different speeds") {
  for (char const* name : {"dualpipe", "chimera", "gems", "bitpipe"}) {
    CAPTURE(name);
    catalog::shape shape{.p = devices{4}, .m = micro_batches{8}};
    schedule const alike = catalog::find(name)->make(shape);
    shape.cost.speeds = {100, 100, 40, 100};
    schedule const s = catalog::find(name)->make(shape);
    CHECK(check(s).ok());
    std::vector<tick> own = busy(alike), slow = busy(s);
    std::vector<tick> expected(own.size(), 0);
    for (int d = 0; d < s.device_count(); ++d)
      for (timed_pass const& t : s.order[static_cast<std::size_t>(d)]) {
        tick const parts = t.what.kind == pass_kind::backward ? 2 : 1;
        expected[static_cast<std::size_t>(d)] += d == 2 ? 3 * parts : parts;  // 2.5 ticks, rounded up
      }
    CHECK(slow == expected);
    CHECK(slow[2] == 3 * own[2]);
    CHECK(makespan(s) > makespan(alike));
    CHECK(makespan(s) < 3 * makespan(alike));
    CHECK(check(lower(s)).ok());
    // With all alike nothing changes.
    shape.cost.speeds = {100, 100, 100, 100};
    CHECK(catalog::find(name)->make(shape).order == alike.order);
  }
}

}  // namespace

#include <ashlar/schedule/squeeze.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <string>

using namespace shapes;

namespace {

TEST_CASE("redundant bubbles go, the order stays") {
  schedule const s = one_f_one_b(2, 2);
  CHECK(s.order[0]
        == std::vector<time_slot>{{{F, 0, 0}, 0}, {{F, 0, 1}, 1}, {{B, 0, 0}, 4}, {{B, 0, 1}, 7}});
  CHECK(s.order[1]
        == std::vector<time_slot>{{{F, 1, 0}, 1}, {{B, 1, 0}, 2}, {{F, 1, 1}, 4}, {{B, 1, 1}, 5}});
  CHECK(squeeze(s) == s);
  CHECK(retime(s, s.cost) == s);
}

TEST_CASE("a join waits for all its branches") {
  schedule const s = fork_join() | repeat(micro_batches{1}) | squeeze();
  CHECK(check(s).ok());
  CHECK((s.order[1][0].start == 1 && s.order[2][0].start == 1));  // both branches at once
  CHECK(s.order[3][0].start == 2);
  CHECK(makespan(s) == 3 * 3);
  schedule const slow = retime(s, costs({{1, 1, 1}, {5, 1, 1}, {1, 1, 1}, {1, 1, 1}}));
  CHECK((check(slow).ok() && slow.order[3][0].start == 6));  // the join waits for the slow branch
}

TEST_CASE("transfers take their time, hand-overs none") {
  schedule const s = retime(one_f_one_b(3, 1), costs(stage_cost{}, 10));
  CHECK(makespan(s) == 3 * 3 + 4 * 10);
  // It holds for a pass that ends at tick 0, too.
  schedule const instant = retime(s, costs({{0, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 10));
  CHECK(instant.order[1][0].start == 10);
  // A hand-over within a device is free.
  schedule const v =
      retime(catalog::find("v-half")->make({devices{1}, micro_batches{3}}), costs(stage_cost{}, 1000));
  CHECK(makespan(v) == 18);
}

TEST_CASE("two routes") {
  schedule const s = repeat(two_ways(4), micro_batches{4}) | squeeze();
  CHECK((check(s).ok() && squeeze(s) == s));
}

TEST_CASE("work takes its place and its time, and is waited for") {
  schedule s = one_f_one_b(2, 1);
  s.order[1].insert(s.order[1].begin(), {{X, 0, 0}, 0});
  s.work = work_graph({{.parts = {{1, 50}}}}, {});
  s = retime(s, costs(stage_cost{2, 2, 2}));
  CHECK((check(s).ok() && s.order[1][0].start == 0 && s.order[1][1].start == 50));
  // F0 waits for it on device 0, as if it handed something on.
  s.work = work_graph({{.parts = {{0, 50}, {1, 50}}}}, {{{X, 0, 0}, {F, 0, 0}}});
  s.order[0].insert(s.order[0].begin(), {{X, 0, 0}, 0});
  s.order[1][0].what = {X, 0, 1};
  s = squeeze(s);
  CHECK((check(s).ok() && s.order[0][1].start == 50 && s.order[1][1].start == 52));
}

TEST_CASE("work that is summed over devices is waited for") {
  schedule const s = with_norm(one_f_one_b(2, 1));
  // The order is F0 F0 B0 B0, each backward of 2 ticks: they end at 4 and 6; the norm is there a tick
  // later, its sum two.
  CHECK((s.order[0].back().what == pass{X, 2, 0} && s.order[0].back().start == 6 + 1 + 2));
  CHECK((s.order[1].back().start == 6 + 1 + 2 && check(s).ok() && squeeze(s) == s));
  schedule t = s;
  t.order[0].pop_back();
  t.order[0].insert(t.order[0].begin(), {{X, 2, 0}, 0});  // before what it needs by way of the sum
  diagnosis const d = order_walk(t).run();
  CHECK((d.broken == rule::order_has_no_cycle && d.first.what == pass{X, 2, 0}));
  CHECK((d.second.what == pass{X, 0, 1} || d.second.what == pass{X, 0, 0}));
  t = s;
  t.order[0].back().what = {X, 1, 0};  // follows by itself
  CHECK(order_walk(t).run().broken == rule::every_pass_is_known);
  t.order[0].back().what = {X, 3, 0};
  CHECK(order_walk(t).run().broken == rule::every_pass_is_known);
  t = s;
  t.work = work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 7}, {X, 0, 0}}});
  CHECK(order_walk(t).run().broken == rule::every_pass_is_known);
}

TEST_CASE("a part of a schedule") {
  // Inputs that nobody gives count as present.
  schedule const s = squeeze(schedule_from_orders(linear(devices{2}), {0}, {}, {{}, {{B, 1, 0}}}));
  CHECK(s.order[1][0].start == 0);
}

TEST_CASE("orders that wait for each other in a cycle") {
  schedule s = one_f_one_b(2, 1);
  std::swap(s.order[1][0], s.order[1][1]);
  CHECK_BREAKS(order_has_no_cycle, squeeze(s));
  try {
    squeeze(s);
  } catch (violation const& v) {
    CHECK(v.why.first.device == 1);  // not device 0, whose backward waits for the backward there
    CHECK(v.why.first.what == pass{B, 1, 0});
    CHECK(v.why.second.device == 1);
    CHECK(v.why.second.what == pass{F, 1, 0});
    CHECK(std::string(v.what())
          == "the devices' orders must not wait for each other in a cycle (device 1, position 0: stage 1, "
             "micro-batch 0; device 1, position 1: stage 1, micro-batch 0)");
  }
  // None of these is wrong by itself: each device's forward waits for the other's.
  schedule const two = schedule_from_orders(placement(devices{2}, {{0, 1}, {1, 0}}), {0, 1}, {},
                                            {{{F, 1, 1}, {F, 0, 0}}, {{F, 1, 0}, {F, 0, 1}}});
  try {
    squeeze(two);
    FAIL("squeezed");
  } catch (violation const& v) {
    CHECK(v.why.first.device == 0);
    CHECK(v.why.second.device == 1);
  }
}

TEST_CASE("of a pair in a cycle the pass is named that waits") {
  schedule s = schedule_from_orders(linear(devices{1}), {0, 0}, {},
                                    {{{F, 0, 1}, {B, 0, 0}, {F, 0, 0}, {B, 0, 1}}});
  pair_up(s, 0, 0);
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

TEST_CASE("a schedule is moved through pipes that compose") {
  block const b = catalog::one_f_one_b(devices{2});
  auto const squeezed = repeat(micro_batches{3}) | squeeze();  // an operation of its own
  CHECK((b | squeezed) == squeeze(repeat(b, micro_batches{3})));
  schedule s = repeat(b, micro_batches{3});
  time_slot const* const passes = s.order[0].data();
  schedule const t = std::move(s) | squeeze() | retime({});
  CHECK((t.order[0].data() == passes && t == (b | squeezed)));  // moved, not copied
}

TEST_CASE("each device takes its own time, each link its own") {
  schedule s = one_f_one_b(3, 1);
  s.cost.on.speeds = {100, 50, 25};
  s.cost.on.links = {.inside = {.latency = 1}, .between = {.latency = 10}, .node_size = 2};
  s = squeeze(s);
  // Passes of 1, 2 and 4 ticks, messages of 1 and 10.
  CHECK((s.order[0][0].start == 0 && s.order[1][0].start == 1 + 1 && s.order[2][0].start == 4 + 10));
  CHECK((s.order[2][1].start == 14 + 4 && s.order[1][1].start == 18 + 8 + 10));
  CHECK((s.order[0][1].start == 36 + 4 + 1 && makespan(s) == 43));
  CHECK((check(s).ok() && busy(s) == std::vector<tick>{3, 6, 12}));
  s.order[1][0].start = 1;  // before the message is there
  CHECK((check(s).broken == rule::no_pass_starts_before_its_input && check(s).number == 1));
  s.order[1][0].start = 2;
  s.order[2][0].start = 13;
  CHECK((check(s).broken == rule::no_pass_starts_before_its_input && check(s).number == 1));
  s = squeeze(s);
  s.cost.on.speeds = {100, 50};
  CHECK((check(s).broken == rule::tables_agree && check(s).number == 2));
}

TEST_CASE("costs of other devices are refused") {
  costs c;
  c.on.speeds = {100, 100, 100};
  CHECK_BREAKS(tables_agree, retime(one_f_one_b(2, 2), c));
}

// Replicas of a stage on unequal devices: each works as long as its own passes take there.
TEST_CASE("both directions on devices of different speeds") {
  for (char const* name : {"dualpipe", "chimera", "gems", "bitpipe"}) {
    CAPTURE(name);
    catalog::shape shape{.p = devices{4}, .m = micro_batches{8}};
    schedule const alike = catalog::find(name)->make(shape);
    shape.cost.on.speeds = {100, 100, 40, 100};
    schedule const s = catalog::find(name)->make(shape);
    CHECK(check(s).ok());
    std::vector<tick> own = busy(alike), slow = busy(s);
    std::vector<tick> expected(own.size(), 0);
    for (int d = 0; d < s.device_count(); ++d)
      for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)])) {
        tick const parts = t.what.kind == pass_kind::backward ? 2 : 1;
        expected[static_cast<std::size_t>(d)] += d == 2 ? 3 * parts : parts;  // 2.5 ticks, rounded up
      }
    CHECK(slow == expected);
    CHECK(slow[2] == 3 * own[2]);
    CHECK(makespan(s) > makespan(alike));
    CHECK(makespan(s) < 3 * makespan(alike));
    CHECK(check(lower(s)).ok());
    // Nothing changes if all are alike.
    shape.cost.on.speeds = {100, 100, 100, 100};
    CHECK(catalog::find(name)->make(shape).order == alike.order);
  }
}

}  // namespace

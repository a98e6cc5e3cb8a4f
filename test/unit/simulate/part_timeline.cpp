#include <ashlar/simulate/part_timeline.hpp>
// The header above comes first: it needs nothing before it.
#include "part_lists.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using namespace shapes;
using namespace part_lists;

namespace {

part_costs parts_of_one(std::vector<pass_part> const& forward, std::vector<pass_part> const& backward,
                        braiding how = braiding::best) {
  return {.stages = {{.forward = forward, .backward = backward}}, .how = how};
}

schedule forwards(int p, int m, tick transfer) {
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
  for (int d = 0; d < p; ++d)
    for (int k = 0; k < m; ++k) orders[static_cast<std::size_t>(d)].push_back({F, d, k});
  schedule s = schedule_from_orders(linear(devices{p}), std::vector<int>(static_cast<std::size_t>(m), 0),
                                    costs(stage_cost{}, transfer), orders);
  s.mode = execution_mode::inference;
  return s;
}

TEST_CASE("parts: a pass computes while the one before it exchanges") {
  part_timeline const t =
      time_parts(forwards(2, 2, 10), parts_of_one({computes(4), exchanges(3), computes(2)}, {}));
  // Device 0 computes 0-4, exchanges 4-7 while the second pass computes, in order only after 7-9.
  device_parts const& first = t.devices[0];
  using enum part_resource;
  CHECK(first.parts
        == std::vector<timed_part>{{0, 0, compute, 0, 4},
                                   {0, 1, exchange, 4, 7},
                                   {0, 2, compute, 7, 9},
                                   {1, 0, compute, 9, 13},
                                   {1, 1, exchange, 13, 16},
                                   {1, 2, compute, 16, 18}});
  CHECK(first.passes == std::vector<pass_of_parts>{{{F, 0, 0}, 0, 9}, {{F, 0, 1}, 9, 18}});
  CHECK((first.computing == 12 && first.exchanging == 6));
  CHECK(t.devices[1].passes[0] == pass_of_parts{{F, 1, 0}, 19, 28});
  CHECK(t.makespan == 37);
  // A last exchange is hidden beside the next pass, and a first one beside the pass before.
  part_costs const last = parts_of_one({computes(4), exchanges(3)}, {}),
                   front = parts_of_one({exchanges(3), computes(4)}, {});
  CHECK(time_parts(forwards(1, 3, 0), last).makespan == 4 + 4 + 4 + 3);
  CHECK(time_parts(forwards(1, 3, 0), front).makespan == 3 + 4 + 4 + 4);
  CHECK(time_parts(forwards(1, 3, 0), last).devices[0].passes[0] == pass_of_parts{{F, 0, 0}, 0, 7});
}

// A forward and a backward on one device, of stages of their own.
schedule one_slot(bool is_pair) {
  schedule s = schedule_from_orders(
      linear(devices{2}), {0, 0}, costs{},
      {{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}}, {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}});
  if (is_pair) {
    s.order[1][1].beside = {B, 1, 0};
    s.order[1].erase(s.order[1].begin() + 2);
  }
  return s;
}

TEST_CASE("parts: the passes of a pair begin and end each for itself") {
  part_costs const c =
      parts_of_one({computes(4), exchanges(3)}, {exchanges(3), computes(2), computes(2, true)});
  part_timeline const t = time_parts(one_slot(true), c);
  device_parts const& last = t.devices[1];
  REQUIRE(last.passes.size() == 4);
  // The forward computes 11-15 before the backward's input is there. In the order of the braid the
  // backward exchanges first, 14-17, then the forward, 17-20; the backward computes 17-21.
  CHECK(last.passes[0] == pass_of_parts{{F, 1, 0}, 7, 14});
  CHECK(last.passes[1] == pass_of_parts{{F, 1, 1}, 11, 20});
  CHECK(last.passes[2] == pass_of_parts{{B, 1, 0}, 14, 21});
  // The gradient leaves when the backward ends.
  CHECK(t.devices[0].passes[2].start == 21);
}

TEST_CASE("parts: the makespan is the last end, of whichever device") {
  schedule const s =
      schedule_from_orders(linear(devices{2}), {0}, costs{},
                           {{{F, 0, 0}, {I, 0, 0}, {W, 0, 0}}, {{F, 1, 0}, {I, 1, 0}, {W, 1, 0}}});
  auto const with_weights = [](tick t) {
    return stage_parts{{computes(1)}, {computes(1), computes(t, true)}};
  };
  // The weights of stage 1 take from 3 to 103; those of stage 0, which run last, from 4 to 5.
  part_timeline const t = time_parts(s, {.stages = {with_weights(1), with_weights(100)}});
  CHECK((t.makespan == 103 && t.devices[0].passes[2].end == 5));
}

TEST_CASE("parts: weights delayed, a backward alone hides its exchange beside its weights") {
  std::vector<pass_part> const backward{exchanges(2), computes(4), computes(4, true),
                                        exchanges(2), computes(4), computes(4, true)};
  schedule const s = schedule_from_orders(linear(devices{1}), {0}, costs{}, {{{F, 0, 0}, {B, 0, 0}}});
  CHECK(time_parts(s, parts_of_one({computes(1)}, backward)).makespan == 1 + 20);
  CHECK(time_parts(s, parts_of_one({computes(1)}, backward, braiding::in_turn)).makespan == 1 + 20);
  CHECK(time_parts(s, parts_of_one({computes(1)}, backward, braiding::in_turn_delayed)).makespan
        == 1 + 18);
}

TEST_CASE("parts: what takes no time keeps its place") {
  part_costs c;
  c.stages = {{.forward = {computes(5)}, .backward = {}}, {.forward = {}, .backward = {computes(2)}}};
  part_timeline const t = time_parts(forwards(2, 2, 0), c);
  CHECK(t.devices[1].passes == std::vector<pass_of_parts>{{{F, 1, 0}, 5, 5}, {{F, 1, 1}, 10, 10}});
  CHECK(t.devices[1].parts.empty());
  // In an order that waits, everything that follows waits as well.
  schedule s = schedule_from_orders(linear(devices{2}), {0, 0}, costs{},
                                    {{{F, 0, 0}, {F, 0, 1}}, {{F, 1, 1}, {F, 1, 0}}});
  s.mode = execution_mode::inference;
  CHECK(time_parts(s, c).devices[1].passes[1] == pass_of_parts{{F, 1, 0}, 10, 10});
}

TEST_CASE("parts: slow devices, work, and a pipe") {
  schedule s = forwards(2, 2, 1);
  s.cost.on.speeds = {100, 50};
  part_costs const c = parts_of_one({computes(3), exchanges(1)}, {});
  // Device 1: 5-11, exchanges 11-13, 11-17, exchanges 17-19.
  CHECK((s | time_parts(c)).makespan == 19);
  s = forwards(1, 1, 0);
  s.work = work_graph({{.parts = {{0, 5}}}}, {});
  s.order[0].push_back({pass{X, 0, 0}, 0});
  part_timeline const t = time_parts(s, c);
  CHECK(t.devices[0].passes[1] == pass_of_parts{{X, 0, 0}, 3, 8});
  CHECK((t.devices[0].computing == 8 && t.devices[0].exchanging == 1));
}

TEST_CASE("parts: what is refused") {
  schedule const s = forwards(2, 2, 0);
  CHECK_BREAKS(tables_agree, time_parts(s, part_costs{}));
  CHECK_BREAKS(tables_agree, time_parts(s, part_costs{.stages = std::vector<stage_parts>(3)}));
  CHECK_BREAKS(no_duration_is_negative, time_parts(s, parts_of_one({computes(-1)}, {})));
  CHECK_BREAKS(ticks_fit, time_parts(s, parts_of_one({computes(max_tick), computes(max_tick)}, {})));
  schedule doubled = s;
  doubled.order[0].push_back(doubled.order[0][0]);
  CHECK_BREAKS(no_pass_is_doubled, time_parts(doubled, parts_of_one({computes(1)}, {})));
  schedule waits = one_slot(false);
  std::swap(waits.order[1][0], waits.order[1][2]);
  CHECK_BREAKS(order_has_no_cycle, time_parts(waits, parts_of_one({computes(1)}, {computes(1)})));
}

TEST_CASE("parts: timelines are equal if all of their times are") {
  part_costs const c = parts_of_one({computes(4), exchanges(3)}, {});
  part_timeline const t = time_parts(forwards(2, 2, 1), c);
  CHECK(t == time_parts(forwards(2, 2, 1), c));
  CHECK(t != time_parts(forwards(2, 2, 2), c));
  part_timeline other = t;
  other.devices[1].exchanging += 1;
  CHECK(t != other);
  other = t;
  other.devices[0].parts[0].end += 1;
  CHECK(t != other);
  // Without passes there is no time.
  part_timeline const none = time_parts(forwards(2, 0, 1), c);
  CHECK((none.makespan == 0 && none.devices == std::vector<device_parts>(2)));
  CHECK((none.devices[0].computing == 0 && none.devices[0].exchanging == 0));
}

// These steps have names because g++ 12 does not evaluate a list in a list.
constexpr tick makespan_of_parts() {
  part_costs c;
  c.stages.emplace_back();
  c.stages[0].forward.push_back(computes(4));
  c.stages[0].forward.push_back(exchanges(3));
  c.stages[0].backward.push_back(exchanges(3));
  c.stages[0].backward.push_back(computes(4));
  return time_parts(one_f_one_b(2, 2), c).makespan;
}
static_assert(makespan_of_parts() > 0);

TEST_CASE("parts: a pass that takes no time waits for what computes, not for what exchanges") {
  part_costs c;
  c.stages = {{.forward = {computes(4), exchanges(6)}, .backward = {}}, {.forward = {}, .backward = {}}};
  schedule s = schedule_from_orders(placement(devices{1}, {{0, 0}}), {0, 0}, costs{},
                                    {{{F, 0, 0}, {F, 0, 1}, {F, 1, 0}, {F, 1, 1}}});
  s.mode = execution_mode::inference;
  // The second pass computes 4-14 behind the exchange of the first, then exchanges until 20.
  device_parts const one = time_parts(s, c).devices[0];
  CHECK(one.passes[1] == pass_of_parts{{F, 0, 1}, 4, 16});
  CHECK(one.passes[2] == pass_of_parts{{F, 1, 0}, 10, 10});
  CHECK(one.passes[3] == pass_of_parts{{F, 1, 1}, 16, 16});
}

TEST_CASE("parts: first values are no time") {
  CHECK(pass_of_parts{} == pass_of_parts{.what = {}, .start = 0, .end = 0});
  CHECK(timed_part{}
        == timed_part{.of = 0, .number = 0, .on = part_resource::compute, .start = 0, .end = 0});
  CHECK(device_parts{} == device_parts{.passes = {}, .parts = {}, .computing = 0, .exchanging = 0});
}

TEST_CASE("parts: each pair of stages and kind of backward has an order of its own") {
  part_costs c;
  c.stages = {{.forward = {computes(1), exchanges(2)},
               .backward = {exchanges(1), computes(2), computes(3, true), exchanges(4)}},
              {.forward = {computes(5), exchanges(1), computes(2), exchanges(1), computes(1)},
               .backward = {computes(2), computes(1, true)}}};
  // Both stages are on one device. Forwards of micro-batch 1 run beside backwards of 0.
  for (pass_kind const kind : {B, I})
    for (bool const crossed : {false, true}) {
      schedule s = schedule_from_orders(placement(devices{1}, {{0, 0}}), {0, 0}, costs{},
                                        {{{F, 0, 0}, {F, 1, 0}, {F, 0, 1}, {F, 1, 1}}});
      std::vector<time_slot>& order = s.order[0];
      order.resize(2);
      if (crossed) {
        order.emplace_back(pass{F, 0, 1}, 0, pass{kind, 1, 0});
        order.emplace_back(pass{F, 1, 1}, 0, pass{kind, 0, 0});
      } else {
        order.emplace_back(pass{F, 0, 1});
        order.emplace_back(pass{F, 1, 1}, 0, pass{kind, 1, 0});
        order.emplace_back(pass{kind, 0, 0});
      }
      if (kind == I)
        for (int const stage : {1, 0}) order.emplace_back(pass{W, stage, 0});
      for (int const stage : {1, 0}) order.emplace_back(pass{B, stage, 1});
      device_parts const all = time_parts(s, c).devices[0];
      CHECK(all.computing == 2 * (1 + 2 + 3 + 5 + 2 + 1 + 2 + 1));
      CHECK(all.exchanging == 2 * (2 + 1 + 4 + 1 + 1));
    }
  // A weight pass of stage 0, and a whole backward of stage 1.
  schedule const s = schedule_from_orders(placement(devices{1}, {{0, 0}}), {0, 0, 0}, costs{},
                                          {{{F, 0, 0},
                                            {F, 1, 0},
                                            {F, 0, 1},
                                            {B, 1, 0},
                                            {I, 0, 0},
                                            {F, 0, 2},
                                            {W, 0, 0},
                                            {F, 1, 1},
                                            {F, 1, 2},
                                            {B, 1, 1},
                                            {B, 0, 1},
                                            {B, 1, 2},
                                            {B, 0, 2}}});
  schedule paired = s;
  for (std::size_t const i : {5U, 2U}) pair_up(paired, 0, i);
  for (schedule const& each : {s, paired}) {
    device_parts const all = time_parts(each, c).devices[0];
    CHECK(all.computing == 3 * (1 + 2 + 3 + 5 + 2 + 1 + 2 + 1));
    CHECK(all.exchanging == 3 * (2 + 1 + 4 + 1 + 1));
  }
}

TEST_CASE("parts: work waits for the last part of what it reads") {
  schedule s = schedule_from_orders(linear(devices{1}), {0}, costs{}, {{{F, 0, 0}}});
  s.order[0].emplace_back(pass{X, 0, 0});
  s.order[0].emplace_back(pass{B, 0, 0});
  part_costs const c = parts_of_one({computes(3), exchanges(1)}, {computes(2)});
  s.work = work_graph({{.parts = {{0, 5}}}}, {});
  CHECK(time_parts(s, c).devices[0].passes[1] == pass_of_parts{{X, 0, 0}, 3, 8});
  s.work = work_graph({{.parts = {{0, 5}}}}, {{{F, 0, 0}, {X, 0, 0}}});
  CHECK(time_parts(s, c).devices[0].passes[1] == pass_of_parts{{X, 0, 0}, 4, 9});
}

TEST_CASE("parts: nobody waits for an input that no pass gives") {
  schedule s = forwards(2, 1, 10);
  s.order[0].clear();
  part_costs const c = parts_of_one({computes(3)}, {});
  CHECK(time_parts(s, c).devices[1].passes[0] == pass_of_parts{{F, 1, 0}, 0, 3});
}

TEST_CASE("parts: what ends at the start still takes its way to another device") {
  part_costs const c{
      .stages = {{.forward = {}, .backward = {}}, {.forward = {computes(3)}, .backward = {}}}};
  CHECK(time_parts(forwards(2, 1, 10), c).devices[1].passes[0] == pass_of_parts{{F, 1, 0}, 10, 13});
}

}  // namespace

#include <ashlar/simulate/slack.hpp>
// The header above comes first: it needs nothing before it.
#include "options_of.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/from_orders.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace shapes;

namespace {

tick makespan_with(program const& p, simulation_options o, int from, int to, tick by) {
  delay_link(o.cost.on.links, from, to, by);
  return time_program(p, o).makespan;
}

TEST_CASE("slack: where each pass waits for the one before, there is none") {
  program const p = one_f_one_b(2, 1) | lower();
  simulation_options const o = options_of(one_f_one_b(2, 1));
  std::vector<link_slack> const links = link_slacks(p, o);
  REQUIRE(links.size() == 2);
  CHECK(links[0] == link_slack{0, 1, 1, 0});
  CHECK(links[1] == link_slack{1, 0, 1, 0});
}

// Passes that take no time on both sides of the message, and work of 5 ticks beside them.
TEST_CASE("slack: a message may take as long as the whole step") {
  schedule s = schedule_from_orders(linear(devices{2}), {0}, costs(stage_cost{0, 0, 0}, 0),
                                    {{{F, 0, 0}}, {{F, 1, 0}}});
  s.mode = execution_mode::inference;
  s.order[0].push_back({{X, 0, 0}, 0});
  s.work = work_graph({{.parts = {{0, 5}}}}, {});
  s = squeeze(s);
  std::vector<link_slack> const links = link_slacks(lower(s), options_of(s));
  CHECK(links == std::vector<link_slack>{{0, 1, 1, 5}});
}

TEST_CASE("slack: so much later changes nothing, and one more does, for every schedule and link") {
  for (schedule const& s :
       {one_f_one_b(2, 4), one_f_one_b(3, 5), two_ways(2) | repeat(micro_batches{4}) | squeeze(),
        catalog::find("zb-h1")->make({devices{4}, micro_batches{6}})}) {
    program const p = lower(s);
    for (tick const latency : {0, 1, 3}) {
      simulation_options o = options_of(s);
      o.cost.on.links.inside.latency = latency;
      o.latency_holds_lane = latency != 3;
      tick const makespan = time_program(p, o).makespan;
      int transfers = 0;
      for (link_slack const& l : link_slacks(p, o)) {
        CHECK(makespan_with(p, o, l.from, l.to, l.slack) == makespan);
        CHECK(makespan_with(p, o, l.from, l.to, l.slack + 1) > makespan);
        transfers += l.transfers;
      }
      CHECK(transfers
            == std::count_if(p.instructions.begin(), p.instructions.end(),
                             [](instruction const& i) { return i.code == opcode::send; }));
    }
  }
}

TEST_CASE("delays: those of one link add up, the other direction has its own") {
  schedule const s = one_f_one_b(2, 2);
  program const p = lower(s);
  simulation_options o = options_of(s);
  tick const none = time_program(p, o).makespan;
  interconnect& links = o.cost.on.links;
  delay_link(links, 0, 1, 2);
  delay_link(links, 0, 1, 3);
  CHECK((links.link(0, 1).latency == 5 && links.exceptions.size() == 1));
  CHECK(links.link(1, 0).latency == 0);
  tick const there = time_program(p, o).makespan;
  CHECK(there > none);
  delay_link(links, 1, 0, 5);
  CHECK(time_program(p, o).makespan > there);
}

TEST_CASE("delays: what cannot be is refused") {
  schedule const s = one_f_one_b(2, 2);
  program const p = lower(s);
  auto const with = [&](link_exception const& one) {
    simulation_options o = options_of(s);
    o.cost.on.links.exceptions = {one};
    return time_program(p, o).makespan;
  };
  CHECK_BREAKS(transfers_lead_to_another_device, with({0, 2, {1}}));
  CHECK_BREAKS(transfers_lead_to_another_device, with({-1, 1, {1}}));
  CHECK_BREAKS(transfers_lead_to_another_device, with({1, 1, {1}}));
  CHECK_BREAKS(no_duration_is_negative, with({0, 1, {-1}}));
  CHECK_BREAKS(ticks_fit, with({0, 1, {INT64_MAX}}));
}

}  // namespace

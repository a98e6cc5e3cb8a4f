#include <ashlar/simulate/bound.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("the smallest message, both ways") {
  program const p = lower(one_f_one_b(4, 2));
  simulation_options o{.cost = {}, .memory = {.stages = {{.activation = 100, .gradient = 30}}}};
  CHECK((smallest_message(p, o) == 30 && smallest_message(lower(one_f_one_b(1, 2)), o) == 0));
  o.memory.stages.resize(4, o.memory.stages[0]);
  o.memory.stages[1].activation = 8;  // from stage 1 to 2
  CHECK(smallest_message(p, o) == 8);
  o.memory.stages[3] = {.activation = 1, .gradient = 2};  // goes nowhere
  CHECK(smallest_message(p, o) == 8);
  o.memory.stages[2].gradient = 7;  // from stage 3 to 2
  CHECK(smallest_message(p, o) == 7);
  o.memory.stages[0].activation = 5;  // of the first device
  CHECK(smallest_message(p, o) == 5);
  o.memory = {.stages = {{.activation = 100, .gradient = 30}, {.activation = 20, .gradient = 40}},
              .micro_batches = 2};
  CHECK(smallest_message(p, o) == 20);  // of the second micro-batch
}

TEST_CASE("links faster and slower than the schedule was made for") {
  schedule const s = one_f_one_b(3, 5);  // optimal, and made for free transfers
  program const p = lower(s);
  for (tick latency : {0, 1, 4}) {
    simulation_options o{.cost = s.cost, .latency_holds_lane = false};
    o.cost.on.links.inside.latency = latency;
    CHECK(program_bound(s, p, o)->makespan <= time_program(p, o).makespan);
    CHECK(program_bound(s, p, o)->makespan >= 21 + 4 * latency);  // down the devices and up again
    o.cost.on.links.between = {.latency = 9};
    o.cost.on.links.node_size = 1;  // all links are slow ones now
    CHECK(program_bound(s, p, o)->makespan >= 21 + 4 * 9);
    CHECK(program_bound(s, p, o)->makespan <= time_program(p, o).makespan);
  }
  simulation_options const free{.cost = s.cost};
  CHECK(program_bound(s, p, free)->makespan == time_program(p, free).makespan);
}

TEST_CASE("a bound for several routes") {
  schedule const both = two_ways(3) | repeat(micro_batches{4}) | squeeze();
  program const p = lower(both);
  simulation_options o{.cost = both.cost, .latency_holds_lane = false};
  for (tick latency : {0, 1, 4}) {
    o.cost.on.links.inside.latency = latency;
    CHECK(program_bound(both, p, o)->makespan <= time_program(p, o).makespan);
    CHECK(program_bound(both, p, o)->makespan >= 9 + 4 * latency);  // one way down and up again
  }
}

TEST_CASE("a bound needs a schedule with a form, and a program that can be timed") {
  schedule s = one_f_one_b(2, 2);
  program p = lower(s);
  schedule const good = s;
  s.order.pop_back();
  CHECK_BREAKS(tables_agree, program_bound(s, p, {.cost = s.cost}));
  mutate::at(p, 0, mutate::find(p, 0, opcode::send, {F, 0, 0})).peer = 9;
  CHECK_BREAKS(every_pass_is_known, program_bound(good, p, {.cost = s.cost}));
}

TEST_CASE("no bound for times too long") {
  schedule const s = one_f_one_b(2, 2);
  simulation_options slow{.cost = s.cost};
  slow.cost.on.links.inside.latency = max_tick / 2;
  CHECK_FALSE(program_bound(s, lower(s), slow).has_value());
}

}  // namespace

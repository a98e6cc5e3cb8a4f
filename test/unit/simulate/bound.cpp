#include <ashlar/simulate/bound.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

using namespace shapes;

namespace {

constexpr bool test_fastest() {
  program const p = lower(one_f_one_b(4, 2));
  simulation_options o{.cost = {},
                       .bytes = {{.activation = 100, .gradient = 30}},
                       .inside = {.latency = 3, .bandwidth = 10},
                       .between = {.latency = 1, .bandwidth = 7},
                       .node_size = 2};
  HOLDS(fastest_transfer(p, o) == 3 + 3 && fastest_transfer(lower(one_f_one_b(1, 2)), o) == 0);
  o.node_size = 1;
  HOLDS(fastest_transfer(p, o) == 1 + 5);
  o.bytes.resize(4, o.bytes[0]);
  o.bytes[1].activation = 8;  // from stage 1 to 2
  HOLDS(fastest_transfer(p, o) == 1 + 2);
  return true;
}
BOTH_TIMES("the fastest transfer of all links, both ways", test_fastest)

TEST_CASE("links faster and slower than the schedule was made for") {
  schedule const s = one_f_one_b(3, 5);  // optimal, and made for free transfers
  program const p = lower(s);
  for (tick latency : {0, 1, 4}) {
    simulation_options o{.cost = s.cost, .inside = {.latency = latency}, .latency_holds_lane = false};
    CHECK(program_bound(s, p, o)->makespan <= time_program(p, o).makespan);
    CHECK(program_bound(s, p, o)->makespan >= 21 + 4 * latency);  // down the devices and up again
    o.between = {.latency = 9};
    o.node_size = 1;  // all links are slow ones now
    CHECK(program_bound(s, p, o)->makespan >= 21 + 4 * 9);
    CHECK(program_bound(s, p, o)->makespan <= time_program(p, o).makespan);
  }
  simulation_options const free{.cost = s.cost};
  CHECK(program_bound(s, p, free)->makespan == time_program(p, free).makespan);
}

TEST_CASE("no bound for several routes and for times too long") {
  schedule const both = two_ways(2) | repeat(micro_batches{2}) | squeeze();
  CHECK_FALSE(program_bound(both, lower(both), simulation_options{.cost = both.cost}).has_value());
  schedule const s = one_f_one_b(2, 2);
  simulation_options const slow{.cost = s.cost, .inside = {.latency = max_tick / 2}};
  CHECK_FALSE(program_bound(s, lower(s), slow).has_value());
}

}  // namespace

#include <ashlar/simulate/simulate.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/residency_rules.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

// Two stages on one device, one at a time, each pass of 10 ticks; a stage's weights take 40 bytes, its
// gradient 80, its optimizer state 240.
constexpr simulation streamed(shard_home home, int ranks) {
  schedule const s = squeeze(schedule_from_orders(
      looped(devices{1}, chunks{2}), {0, 0}, stage_cost{10, 10, 10},
      {{{F, 0, 0}, {F, 0, 1}, {F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}, {B, 0, 0}, {B, 0, 1}}}));
  simulation_options o;
  o.cost = s.cost;
  o.cost.on.host = {.speed = {.bandwidth = 4}};
  o.memory.stages = {{.weights = 40, .optimizer_state = 240, .weight_gradient = 80}};
  o.shards = home;
  lower_options how{.data_ranks = ranks, .sharding = sharding_level::weights};
  how.weights = planned_residency(s, {.stages = 1, .window = false});
  return simulate(lower(s, how), o);
}

// 120 ticks of passes. Three gathers of 10 ticks run beside none of them, because the only buffer is
// taken until then. The first of two scatters, of 20, runs beside the last gather and passes.
static_assert(streamed(shard_home::host, 1).makespan() == 120 + 3 * 10 + 20);
static_assert(streamed(shard_home::device, 1).makespan() == 120);

TEST_CASE("shards on the host take its memory and its link, and none of the device's") {
  for (int const ranks : {1, 2}) {
    device_memory const near = streamed(shard_home::device, ranks).memory[0],
                        far = streamed(shard_home::host, ranks).memory[0];
    byte_count const shards = 2 * (40 + 80 + 240) / ranks, gradients = 2 * 80;
    CHECK(near.resident == shards + gradients);
    CHECK((near.host_peak == 0 && near.host_reserved == 0));
    CHECK(far.resident == gradients);
    CHECK((far.host_peak == shards && far.host_reserved == shards));
    CHECK(far.peak == gradients + 40);  // the weights of one stage
    CHECK(near.peak == near.resident + 40);
  }
  // Each of two ranks copies half, and the ring takes no time. The first scatter holds the lane before
  // the last gather.
  CHECK(streamed(shard_home::host, 2).makespan() == 120 + 3 * 5 + 2 * 10);
}

}  // namespace

// Programs of random schedules from which some values leave for the host.
#include "random.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/progress.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/same_sums.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace random_case;

namespace {

struct offload_case {
  schedule s;
  offload_options offload;
  simulation_options how;
};

// A stash has as many bytes as its copy has ticks.
offload_case random_offload(dice& d) {
  block const b = random_block(d, block_options{.mode = execution_mode::training});
  offload_case c{squeeze(repeat(b, random_count(d, b, 3))), {}, {}};
  for (auto const& order : c.s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind == pass_kind::forward && (c.offload.forwards.empty() || d.percent(60)))
        c.offload.forwards.push_back(t.what);
  c.how.cost = c.s.cost;
  c.how.cost.on.host.speed.bandwidth = 1;
  tick const copy = d.between(0, 6);
  c.offload.copy = {copy};
  c.how.memory.stages[0].stash = copy;
  return c;
}

byte_count most(simulation const& s, byte_count device_memory::*what) {
  byte_count found = 0;
  for (device_memory const& m : s.memory) found = std::max(found, m.*what);
  return found;
}

TEST_CASE("whatever leaves, the program is proved, gives the same sums and is above the bound") {
  FOR_SEEDS(400) {
    offload_case const c = random_offload(d);
    CAPTURE(seed);
    lower_options options{
        .lanes = static_cast<transfer_lanes>(d.between(0, 3)),
        .receives = d.percent(50) ? receive_time::when_needed : receive_time::when_sent};
    program const stays = lower(c.s, options);
    options.offload = c.offload;
    program const goes = lower(c.s, options);
    CHECK(check(goes).ok());
    CHECK(check_same_sums(stays.view(), goes.view()).ok());
    for (auto level : {progress_level::one_order, progress_level::one_order_per_device})
      CHECK(check_progress(goes.view(), level).ok() == check_progress(stays.view(), level).ok());
    simulation const timed = simulate(goes, c.how);
    if (auto const least = program_bound(c.s, goes, c.how)) CHECK(timed.makespan() >= least->makespan);
    CHECK(most(timed, &device_memory::host_peak) <= most(timed, &device_memory::host_reserved));
    CHECK(most(timed, &device_memory::peak) <= most(timed, &device_memory::reserved));
  }
}

TEST_CASE("copies that are in time cost nothing") {
  int in_time = 0;
  FOR_SEEDS(600) {
    offload_case c = random_offload(d);
    if (c.s.cost.passes.has_instants()) continue;
    for_each_link(c.s.cost.on.links, [](link_speed& l) { l = {}; });
    c.s = squeeze(c.s);
    c.how.cost = c.s.cost;
    c.how.cost.on.host.speed.bandwidth = 1;
    // A value that is late stays.
    pass_ends ends = no_ends(c.s);
    REQUIRE(check_passes(c.s, ends).ok());
    host_copies const copies(c.s, ends, c.offload);
    if (!copies.are_in_time()) continue;
    CAPTURE(seed);
    ++in_time;
    tick const plain = simulate(lower(c.s), c.how).makespan();
    simulation const timed = simulate(lower(c.s, {.offload = c.offload}), c.how);
    CHECK(timed.makespan() == plain);
  }
  CHECK(in_time > random_cases(20));
}

}  // namespace

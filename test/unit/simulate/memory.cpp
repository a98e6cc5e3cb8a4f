#include <ashlar/simulate/memory.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "mutate.hpp"
#include "options_of.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("memory: as many bytes as activations, gradients and slots") {
  for (catalog_case const& c : catalog_cases({4}, {8})) {
    CAPTURE(c);
    if (c.is("1f1b-recompute")) continue;  // keeps checkpoints for stashes
    schedule const s = c.schedule();
    if (s.mode == execution_mode::inference) continue;  // keeps nothing
    program const p = lower(s);
    simulation_options o = options_of(s);
    o.memory.stages = {{.stash = 1}};
    std::vector<int> const peak = peak_activations(s);
    simulation const stashes = simulate(p, o);
    for (std::size_t d = 0; d < peak.size(); ++d) CHECK(stashes.memory[d].peak == peak[d]);

    for (slot_kind kind :
         {slot_kind::activation, slot_kind::gradient, slot_kind::stash, slot_kind::weight_stash}) {
      stage_memory b{.checkpoint = 0};
      (kind == slot_kind::activation ? b.activation
       : kind == slot_kind::gradient ? b.gradient
       : kind == slot_kind::stash    ? b.stash
                                     : b.weight_stash) = 1;
      o.memory.stages = {b};
      simulation const run = simulate(p, o);
      for (int d = 0; d < s.device_count(); ++d) {
        device_memory const& m = run.memory[static_cast<std::size_t>(d)];
        CHECK(m.reserved == count_slots(p.view(), d, kind));
        // All slots of what a device keeps are needed at once, unless an overlapped pair lets go of
        // several together. A message that takes no time may be gone in the tick in which its slot is
        // taken.
        bool const kept = kind == slot_kind::stash || kind == slot_kind::weight_stash;
        if (kept && !std::string_view(c.entry->name).starts_with("dualpipe"))
          CHECK(m.peak == m.reserved);
        else
          CHECK(m.peak <= m.reserved);
        if (m.peak > 0) CHECK(run.line.timed[static_cast<std::size_t>(m.witness)].start == m.peak_time);
      }
    }
  }
}

TEST_CASE("memory: over given times it is as simulated, and what does not fit the program is refused") {
  schedule const s = one_f_one_b(2, 3);
  program p = lower(s);
  simulation_options o = options_of(s);
  o.memory.stages = {{.activation = 3, .gradient = 2, .stash = 5}};
  simulation run = simulate(p, o);
  CHECK(memory_over_time(p, run.line, o) == run.memory);
  CHECK(usage_of(p, run.line) == run.usage);
  run.line.timed.pop_back();
  CHECK_BREAKS(tables_agree, memory_over_time(p, run.line, o));
  CHECK_BREAKS(tables_agree, usage_of(p, run.line));
  o.data_ranks = 0;
  CHECK_BREAKS(counts_are_positive, memory_over_time(p, run.line, o));
}

TEST_CASE("memory: what is resident, the samples, and the way back to it") {
  schedule const s = catalog::find("v-half")->make({devices{2}, micro_batches{4}});
  simulation_options o = options_of(s);
  o.memory.stages = {{.weights = 1'000, .optimizer_state = 2'000, .weight_gradient = 500, .stash = 7}};
  simulation const run = simulate(lower(s), o);
  for (device_memory const& m : run.memory) {
    CHECK(m.resident == 2 * 3'500);
    CHECK(m.samples.front().time == 0);
    CHECK(m.samples.back().bytes == m.resident);
    CHECK(m.samples.back().time <= run.makespan());
    byte_count most = 0;
    tick reached = 0;
    for (std::size_t i = 0; i < m.samples.size(); ++i) {
      if (m.samples[i].bytes > most) {
        most = m.samples[i].bytes;
        reached = m.samples[i].time;
      }
      if (i > 0) CHECK(m.samples[i - 1].time < m.samples[i].time);
    }
    CHECK(most == m.peak);
    CHECK(reached == m.peak_time);
  }
}

// Values that go in a tick make room for those that come in it, in any order of the stream.
TEST_CASE("memory: the peak is what lies there between two moments") {
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(200))) {
    CAPTURE(seed);
    catalog::entry const& e = catalog::entries[static_cast<std::size_t>(
        d.between(0, static_cast<int>(catalog::entries.size()) - 1))];
    schedule const s = e.make({devices{4}, micro_batches{8}});
    simulation_options o = options_of(s);
    o.cost.on.links.inside = {.latency = d.between(0, 3), .bandwidth = d.between(1, 3)};
    o.memory.stages = {{.activation = d.between(0, 9),
                        .gradient = d.between(0, 9),
                        .stash = d.between(0, 9),
                        .weight_stash = d.between(0, 9)}};
    o.cost.on.collective.bandwidth = d.between(1, 3);
    o.memory.stages[0].weights = d.between(1, 6);
    program p = lower(s, {.data_ranks = 2,
                          .sharding = d.percent(50) ? sharding_level::full : sharding_level::none,
                          .weight_buffers = d.between(2, 4),
                          .prefetch = d.between(0, 3),
                          .slots = slot_reuse::never});
    // Messages are waited for ahead of the passes before them.
    for (int device = 0; device < p.device_count(); ++device)
      for (int i = 1; i < mutate::length(p, device); ++i)
        for (int to = i; to > 0 && mutate::at(p, device, to).code == opcode::receive
                         && mutate::at(p, device, to - 1).code == opcode::compute;
             --to)
          mutate::move(p, device, to, to - 1);
    for (device_memory const& m : simulate(p, o).memory) {
      byte_count most = 0;
      for (memory_sample const& sample : m.samples) most = std::max(most, sample.bytes);
      CHECK(m.peak == most);
    }
  }
}

// Three chunks share two buffers on one device: the first one's weights are used until 101, but its
// buffer is given up only when the lane has gathered those of the second.
TEST_CASE("memory: gathered weights lie there until they are given up") {
  schedule const s = squeeze(
      schedule_from_orders(looped(devices{1}, chunks{3}), {0}, {},
                           {{{F, 0, 0}, {F, 1, 0}, {F, 2, 0}, {B, 2, 0}, {B, 1, 0}, {B, 0, 0}}}));
  program const p =
      lower(s, {.data_ranks = 2, .sharding = sharding_level::full, .weight_buffers = 2, .prefetch = 1});
  simulation_options o = options_of(s);
  o.memory.stages = {{.weights = 200}};
  o.cost.on.collective = {.latency = 0, .bandwidth = 1};
  std::vector<memory_sample> const samples = simulate(p, o).memory[0].samples;
  REQUIRE(samples.size() > 3);
  std::vector<memory_sample> const first(samples.begin(), samples.begin() + 3);
  CHECK(first == std::vector<memory_sample>{{0, 300 + 200}, {100, 300 + 400}, {200, 300 + 400}});
}

TEST_CASE("a program that knows its ranks lies in as many shards, whatever the options say") {
  schedule const s = one_f_one_b(1, 2);
  simulation_options o = options_of(s);
  o.memory.stages = {{.weights = 1'200, .optimizer_state = 2'400}};
  o.data_ranks = 3;
  program const four = lower(s, {.data_ranks = 4, .sharding = sharding_level::full});
  CHECK(simulate(four, o).memory[0].resident == 3'600 / 4);
  program const own = lower(s, {.sharding = sharding_level::full});
  CHECK(simulate(own, o).memory[0].resident == 3'600 / 3);
}

// One device, forwards in 1 tick each, backwards in 2: states 0 and 1 lie there in forward 1, gradients
// 2 and 1 in backward 1.
TEST_CASE("memory: what chunks of a sequence hand to each other") {
  schedule const s = catalog::seq1f1b(devices{1}, 3) | repeat(micro_batches{3}) | squeeze();
  simulation_options o = options_of(s);
  o.memory.stages = {{.sequence_state = 10, .sequence_gradient = 7}};
  device_memory const m = simulate(lower(s), o).memory[0];
  std::vector<memory_sample> const expected{{0, 10}, {1, 20}, {2, 10}, {3, 7}, {5, 14}, {7, 7}, {9, 0}};
  CHECK(m.samples == expected);
  CHECK(m.peak == 20);
  CHECK(m.reserved == 2 * 10 + 2 * 7);
  // If they are recomputed, states stay until then.
  schedule const again =
      recompute(catalog::seq1f1b(devices{1}, 3)) | repeat(micro_batches{3}) | squeeze();
  device_memory const kept = simulate(lower(again), o).memory[0];
  std::vector<memory_sample> const longer{{0, 10}, {1, 20}, {4, 17}, {7, 14}, {9, 7}, {12, 0}};
  CHECK(kept.samples == longer);
}

// Both count the same, slot by slot and pass by pass.
TEST_CASE("what a program holds is what its schedule's memory model says") {
  stage_memory const each[] = {{.weights = 100, .stash = 10},
                               {.stash = 10, .weight_stash = 4},
                               {.optimizer_state = 3, .stash = 10, .stash_left = 3},
                               {.stash = 10, .stash_left = 0, .weight_stash = 2}};
  for (catalog_case const& c : catalog_cases({4}, {8})) {
    CAPTURE(c);
    if (c.is("1f1b-recompute")) continue;  // a checkpoint has a slot of its own
    schedule const s = c.schedule();
    bool pairs = false;  // of which a slot may be free before the other pass takes it
    for (auto const& order : s.order)
      for (time_slot const& t : order) pairs = pairs || t.is_pair();
    if (s.mode == execution_mode::inference || pairs) continue;
    simulation_options o = options_of(s);
    for (stage_memory const& m : each) {
      o.memory.stages = {m};
      simulation const run = simulate(lower(s), o);
      std::vector<byte_count> const peaks = peak_memory(s, o.memory);
      for (std::size_t d = 0; d < peaks.size(); ++d) CHECK(run.memory[d].peak == peaks[d]);
    }
  }
}

TEST_CASE("so it is where work reads what passes keep") {
  for (char const* name : {"1f1b", "zb-h1", "v-half", "chimera"})
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(20))) {
      CAPTURE(std::string(name));
      CAPTURE(seed);
      schedule const s = conformance::with_random_work(
          catalog::find(name)->make({devices{4}, micro_batches{8}}), seed, d.between(1, 6));
      simulation_options o = options_of(s);
      o.memory.stages = {
          {.stash = 1'000, .stash_left = d.between(0, 1'000), .weight_stash = d.between(0, 99)}};
      simulation const run = simulate(lower(s), o);
      std::vector<byte_count> const peaks = peak_memory(s, o.memory);
      for (std::size_t device = 0; device < peaks.size(); ++device)
        CHECK(run.memory[device].peak == peaks[device]);
    }
}

TEST_CASE("memory: what is away counts on the host, from its copy out to its copy in") {
  schedule const s = catalog::find("gpipe")->make({.p = devices{1}, .m = micro_batches{4}});
  simulation_options o = options_of(s);
  o.memory.stages = {{.stash = 10}};
  o.cost.on.host.speed.bandwidth = 10;
  CHECK(simulate(lower(s), o).memory[0].peak == 40);
  CHECK(simulate(lower(s), o).memory[0].host_peak == 0);
  simulation const away = simulate(
      lower(s, {.offload = {.forwards = {{pass_kind::forward, 0, 1}, {pass_kind::forward, 0, 2}},
                            .copy = {1}}}),
      o);
  CHECK((away.memory[0].peak == 30 && away.memory[0].reserved == 30));
  CHECK((away.memory[0].host_peak == 20 && away.memory[0].host_reserved == 20));
  CHECK(away.makespan() == simulate(lower(s), o).makespan());
}

TEST_CASE("memory: where nothing has a size, nothing reaches the peak") {
  schedule const s = one_f_one_b(2, 2);
  simulation_options o = options_of(s);
  for (byte_count const resident : {0, 30}) {
    o.memory.stages = {{.weights = resident}};
    for (device_memory const& m : simulate(lower(s), o).memory) {
      CHECK((m.peak == resident && m.resident == resident && m.host_peak == 0));
      CHECK((m.peak_time == 0 && m.witness == -1));
    }
  }
}

TEST_CASE("memory: shared parameters lie whole on each device that has them") {
  schedule const s = one_f_one_b(2, 2);
  simulation_options o = options_of(s);
  o.data_ranks = 2;
  o.memory.stages = {{.weights = 100}};
  o.memory.shared = {{.weights = 30, .optimizer_state = 5}};
  lower_options how{.shared_parameters = {{0, 1}}};
  for (device_memory const& m : simulate(lower(s, how), o).memory) CHECK(m.resident == 135);
  // The stages' own are in shards.
  how.sharding = sharding_level::optimizer;
  for (device_memory const& m : simulate(lower(s, how), o).memory) CHECK(m.resident == 50 + 35);
}

TEST_CASE("memory: bytes that cannot be counted on a host are refused") {
  schedule const s = catalog::find("gpipe")->make({.p = devices{1}, .m = micro_batches{6}});
  simulation_options o = options_of(s);
  byte_count const third = max_tick / 3;
  o.memory.stages = {{.stash = third}};
  o.cost.on.host.speed.bandwidth = third;
  pass const all[] = {{F, 0, 0}, {F, 0, 1}, {F, 0, 2}, {F, 0, 3}};
  offload_options away;
  for (pass const& one : all) away.forwards.push_back(one);
  CHECK_BREAKS(sizes_fit, simulate(lower(s, {.offload = away}), o));
}

}  // namespace

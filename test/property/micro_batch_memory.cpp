// Micro-batches that keep and send different amounts.
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/program/slot_sizes.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace random_case;

namespace {

schedule squeezed_repetition(dice& d) {
  block const b = random_block(d);
  return squeeze(repeat(b, random_count(d, b)));
}

// Sizes of all stages alike, or of each.
memory_model sizes_for(dice& d, schedule const& s) {
  memory_model memory{.stages = {}};
  for (int i = 0, count = d.percent(50) ? 1 : s.stage_count(); i < count; ++i) {
    int const stash = d.between(0, 9);
    memory.stages.push_back({.weights = d.between(0, 9),
                             .weight_gradient = d.between(0, 9),
                             .activation = d.between(0, 9),
                             .gradient = d.between(0, 9),
                             .stash = stash,
                             .stash_left = d.between(0, stash),
                             .weight_stash = d.between(0, 9)});
  }
  return recomputing(std::move(memory), s.stage_count(), recomputed_stages(s),
                     [](int, stage_memory const& m) { return m.stash / 2; });
}

simulation_options machine_for(dice& d, schedule const& s, memory_model memory) {
  simulation_options o{.cost = s.cost, .memory = std::move(memory)};
  o.cost.on.links.inside = o.cost.on.links.between = {d.between(0, 3), d.between(0, 3)};
  return o;
}

TEST_CASE("micro-batches said to be alike keep and send what they would if nothing was said") {
  FOR_SEEDS(200) {
    schedule const s = squeezed_repetition(d);
    CAPTURE(seed);
    memory_model const alike = sizes_for(d, s);
    memory_model told{.stages = {}, .micro_batches = s.micro_batch_count()};
    for (stage_memory const& m : alike.stages) told.stages.insert(told.stages.end(), s.route.size(), m);
    CHECK(check(told, s.stage_count(), s.micro_batch_count()).ok());
    CHECK(peak_memory(s, told) == peak_memory(s, alike));
    int const q = s.graph.sequence_chunks();
    for (int device = 0; device < s.device_count(); ++device)
      CHECK(smallest_budget(s.where, told, device, q, s.mode)
            == smallest_budget(s.where, alike, device, q, s.mode));
    program const p = lower(s);
    simulation_options const o = machine_for(d, s, alike);
    simulation_options each = o;
    each.memory = told;
    simulation const plain = simulate(p, o), other = simulate(p, each);
    CHECK(other.line == plain.line);
    CHECK(other.memory == plain.memory);
  }
}

// Sizes are looked up here in the table, by themselves.
TEST_CASE("a device holds what its micro-batches keep") {
  FOR_SEEDS(300) {
    schedule const s = squeezed_repetition(d);
    CAPTURE(seed);
    memory_model memory = sizes_for(d, s);
    std::vector<stage_memory> const plain = memory.stages;
    auto const m = s.route.size();
    differ_by_micro_batch(d, memory, s.micro_batch_count(), 9);
    std::vector<byte_count> const peaks = peak_memory(s, memory);
    for (std::size_t e = 0; e < s.order.size(); ++e) {
      byte_count held = memory.resident_on(s.where, static_cast<int>(e)), most = held;
      byte_count const resident = held;
      for (timed_pass const t : each_pass(s.order[e])) {
        std::size_t const row = plain.size() == 1 ? 0 : static_cast<std::size_t>(t.what.stage);
        stage_memory const& own = memory.stages[row * m + static_cast<std::size_t>(t.what.micro_batch)];
        CHECK(own.weights == plain[row].weights);
        byte_count const kept = own.checkpoint < 0 ? own.stash : own.checkpoint;
        bool const infers = s.mode == execution_mode::inference;
        if (t.what.kind == pass_kind::forward) held += kept;
        if (t.what.kind == pass_kind::recompute) held += own.stash - kept;
        if (t.what.kind == pass_kind::backward || t.what.kind == pass_kind::backward_input)
          held += own.weight_stash;
        most = std::max(most, held);
        if (t.what.kind == pass_kind::forward && infers) held -= kept;
        if (t.what.kind == pass_kind::backward) held -= own.stash + own.weight_stash;
        if (t.what.kind == pass_kind::backward_input) held -= own.stash - own.stash_left;
        if (t.what.kind == pass_kind::backward_weight) held -= own.stash_left + own.weight_stash;
      }
      CHECK(held == resident);
      CHECK(peaks[e] == most);
    }
  }
}

TEST_CASE(
    "a micro-batch that keeps more makes nothing smaller, and all that keep thrice make it thrice") {
  FOR_SEEDS(200) {
    schedule const s = squeezed_repetition(d);
    CAPTURE(seed);
    memory_model memory = sizes_for(d, s);
    for (stage_memory& m : memory.stages) m.weights = m.weight_gradient = 0;
    differ_by_micro_batch(d, memory, s.micro_batch_count(), 9);
    std::vector<byte_count> const peaks = peak_memory(s, memory);
    memory_model larger = memory, thrice = memory;
    larger.stages[static_cast<std::size_t>(d.between(0, static_cast<int>(memory.stages.size()) - 1))]
        .stash += 5;
    for (stage_memory& m : thrice.stages)
      for (byte_count* const size : {&m.stash, &m.stash_left, &m.weight_stash, &m.checkpoint})
        if (*size != stage_memory::all) *size *= 3;
    std::vector<byte_count> const more = peak_memory(s, larger), all = peak_memory(s, thrice);
    int const q = s.graph.sequence_chunks();
    bool const is_chain = s.graph == in_sequence_chunks(chain(stages{s.stage_count()}), q);
    for (std::size_t e = 0; e < peaks.size(); ++e) {
      int const device = static_cast<int>(e);
      CHECK(more[e] >= peaks[e]);
      CHECK(all[e] == 3 * peaks[e]);
      if (is_chain && s.where.route_count() == 1)
        CHECK(smallest_budget(s.where, memory, device, q, s.mode) <= peaks[e]);
      CHECK(smallest_budget(s.where, larger, device, q, s.mode)
            >= smallest_budget(s.where, memory, device, q, s.mode));
    }
  }
}

// It checks messages between devices, and the slots that they move between.
TEST_CASE("messages are as large as their micro-batch's") {
  FOR_SEEDS(200) {
    schedule const s = squeezed_repetition(d);
    CAPTURE(seed);
    memory_model memory = sizes_for(d, s);
    differ_by_micro_batch(d, memory, s.micro_batch_count(), 9);
    simulation_options o = machine_for(d, s, memory);
    o.cost.on.links = {.inside = {.latency = 1, .bandwidth = 1},
                       .between = {.latency = 1, .bandwidth = 1}};
    program const p = lower(s);
    simulation const run = simulate(p, o);
    for (int device = 0; device < s.device_count(); ++device) {
      std::vector<std::int64_t> const sizes =
          slot_sizes(p.view(), device, [&](value_key const& v) { return o.size_of(v, p.graph); });
      std::int64_t all = 0;
      for (std::int64_t const size : sizes) all += size;
      CHECK(all <= run.memory[static_cast<std::size_t>(device)].reserved);
      auto const e = static_cast<std::size_t>(device);
      for (int i = p.stream_begin[e]; i < p.stream_begin[e + 1]; ++i) {
        instruction const& self = p.instructions[static_cast<std::size_t>(i)];
        if (self.code != opcode::send) continue;
        bool const forward = self.what.kind == pass_kind::forward;
        int const stage = forward ? self.what.stage : self.to;
        stage_memory const& own = memory.of(stage, self.what.micro_batch);
        timed_instruction const& t = run.line.timed[static_cast<std::size_t>(i)];
        CHECK(t.end - t.start == 1 + (forward ? own.activation : own.gradient));
      }
    }
  }
}

}  // namespace

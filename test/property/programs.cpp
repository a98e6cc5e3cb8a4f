// Lowered programs of random schedules.
#include "live_values.hpp"
#include "mutate.hpp"
#include "random.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/wait_cycle.hpp>
#include <ashlar/prove/well_formed.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

using namespace random_case;

namespace {

transfer_lanes random_lanes(dice& d) { return static_cast<transfer_lanes>(d.between(0, 2)); }

// Makes one block in five for inference.
block training_or_not(dice& d) {
  return random_block(
      d, block_options{.mode = d.percent(80) ? execution_mode::training : execution_mode::inference});
}

// Repeats a block, and most often squeezes it, some with work.
schedule random_schedule(dice& d, block const& b) {
  schedule const s = repeat(b, random_count(d, b, 3));
  if (d.percent(30)) return s;
  if (!d.percent(30)) return squeeze(s);
  return conformance::with_random_work(squeeze(s), static_cast<std::uint64_t>(d.between(0, 1 << 30)),
                                       d.between(1, 6));
}

TEST_CASE("the program of a valid schedule is proved and keeps every device's order") {
  FOR_SEEDS(400) {
    block const b = training_or_not(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = random_schedule(d, b);
    program const p = lower(s, {.lanes = random_lanes(d)});
    CHECK(check(p).ok());
    CHECK(find_wait_cycle(p).empty());
    for (int device = 0; device < s.device_count(); ++device) {
      auto next = s.order[static_cast<std::size_t>(device)].begin();
      for (instruction const& i : p.view().stream(device))
        if (i.code == opcode::compute) CHECK(i.what == next++->what);
      CHECK(next == s.order[static_cast<std::size_t>(device)].end());
    }
  }
}

// Instructions that change places may be stuck in the order of the stream, and in that of the lanes.
TEST_CASE("devices that end in the order of their streams end with lanes, too") {
  int in_order = 0, with_lanes_only = 0, stuck = 0;
  FOR_SEEDS(400) {
    block const b = training_or_not(d);
    CAPTURE(seed);
    INFO(words(b));
    bool const is_late = d.percent(30);
    program p = lower(random_schedule(d, b),
                      {.lanes = random_lanes(d),
                       .receives = is_late ? receive_time::when_needed : receive_time::when_sent});
    for (int moves = d.between(0, 4); moves > 0; --moves) {
      int const device = d.between(0, p.device_count() - 1), count = mutate::length(p, device);
      if (count > 0) mutate::exchange(p, device, d.between(0, count - 1), d.between(0, count - 1));
    }
    message_index index(p);
    if (!check_well_formed(p).ok() || !check_complete(p, index).ok()) continue;
    bool const ends = ends_in_order(p, index);
    rendezvous_machine one_lane(p.view(), index.partners(), 1),
        lanes(p.view(), index.partners(), p.view().lane_count);
    CHECK(ends == one_lane.run());
    bool const ends_with_lanes = lanes.run();
    CHECK((!ends || ends_with_lanes));
    ++(ends ? in_order : ends_with_lanes ? with_lanes_only : stuck);
  }
  CHECK((in_order > 50 && with_lanes_only > 5 && stuck > 5));
}

TEST_CASE("a program has as few slots as its values can share") {
  FOR_SEEDS(250) {
    block const b = training_or_not(d);
    CAPTURE(seed);
    INFO(words(b));
    schedule const s = random_schedule(d, b);
    program const p = lower(s, {.lanes = random_lanes(d)});
    schedule const timed = s.cost.passes.has_instants() ? without_instants(s) : s;
    live_values const values(timed);
    for (int device = 0; device < s.device_count(); ++device)
      for (int kind = 0; kind < slot_kinds; ++kind) {
        CAPTURE(device);
        CAPTURE(kind);
        auto const k = static_cast<slot_kind>(kind);
        CHECK(count_slots(p.view(), device, k) == values.most(device, k));
      }
  }
}

// Sequences in chunks, of which some stages are recomputed.
TEST_CASE("a program in chunks is proved and has as few slots as its values can share") {
  FOR_SEEDS(150) {
    auto const number = static_cast<std::uint64_t>(d.between(0, 1 << 30));
    CAPTURE(number);
    schedule s = conformance::random_schedule(number, d.between(2, 4));
    if (d.percent(30)) s = conformance::with_random_work(s, number, d.between(1, 4));
    program const p = lower(s, {.lanes = random_lanes(d)});
    CHECK(check(p).ok());
    schedule const timed = s.cost.passes.has_instants() ? without_instants(s) : s;
    live_values const values(timed);
    for (int device = 0; device < s.device_count(); ++device)
      for (int kind = 0; kind < slot_kinds; ++kind) {
        CAPTURE(kind);
        auto const k = static_cast<slot_kind>(kind);
        CHECK(count_slots(p.view(), device, k) == values.most(device, k));
      }
  }
}

TEST_CASE("the budget that a program needs is enough, one byte less is not") {
  FOR_SEEDS(100) {
    block const b = training_or_not(d);
    CAPTURE(seed);
    INFO(words(b));
    program const p = lower(random_schedule(d, b));
    auto const bytes = [](value_key const& v) { return 1 + static_cast<int>(v.kind) + 7 * v.of; };
    std::int64_t budget = 0;
    for (int grown = 0; grown < 100; ++grown) {
      diagnosis const found = check_memory_budget(p, bytes, budget);
      if (found.ok()) break;
      CHECK(found.broken == rule::memory_is_within_budget);
      CHECK(found.number > budget);
      budget = found.number;
    }
    CHECK(check_memory_budget(p, bytes, budget).ok());
    CHECK(!check_memory_budget(p, bytes, budget - 1).ok());
  }
}

}  // namespace

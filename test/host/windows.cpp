// A device that starts the first of its next passes that can start: other orders, the same bits.
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

// Counts passes that began, on any device, before one that stands before them in the stream.
int passes_ahead(program const& p, std::vector<instruction_time> const& times) {
  int count = 0;
  for (int d = 0; d < p.device_count(); ++d) {
    std::int64_t latest = -1;
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      if (p.instructions[static_cast<std::size_t>(i)].code != opcode::compute) continue;
      std::int64_t const begin = times[static_cast<std::size_t>(i)].begin;
      count += begin < latest ? 1 : 0;
      latest = begin > latest ? begin : latest;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("host: within any window, the bits of the sequential reference") {
  // There are three of each program, with different lanes. Each has another window, and which one it is
  // differs from program to program.
  constexpr int windows[] = {2, 3, 8};
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(turns(3)); ++turn) {
    std::size_t number = 0;
    auto const run = [&](program const& p, conformance::network& w) {
      int const window = windows[(number + number / 3 + turn) % 3];
      w.delays = ++number;
      host::runtime(p, w, {.window = window}).run();
    };
    conformance::report const r =
        conformance::conforms(listed_cases(conformance::sample_programs()), run);
    for (std::string const& failure : r.failures) FAIL_CHECK(failure);
  }
}

TEST_CASE("host: within a window, data-parallel ranks conform") {
  conformance::report const r = conformance::ranks_conform(
      listed_cases(conformance::programs_of_ranks()),
      [](program const& p, std::vector<conformance::sharded_network*> const& workers) {
        host::runtime(p, workers, {.window = 4}).run();
      });
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}

// Messages come late on purpose, so devices have nothing to do in order; steps follow each other.
TEST_CASE("host: a device goes ahead of what has to wait, and adds up in the same order") {
  schedule const s = catalog::find("zb-h1")->make({devices{4}, micro_batches{8}});
  program const p = lower(s, {.lanes = transfer_lanes::one_a_direction, .slots = slot_reuse::never});
  conformance::network w(p), alone(p);
  sequential reference(p, alone);
  w.delays = 5;
  host::runtime hinted(p, w, {.record = true, .window = 6});
  int ahead = 0;
  for (int step = 0; step < 6; ++step) {
    hinted.run();
    reference.run();
    CHECK(w.take() == alone.take());
    ahead += passes_ahead(p, hinted.times());
    w.delays = static_cast<std::uint64_t>(step) + 6;
  }
  CHECK(ahead > 0);
  host::runtime fixed(p, w, {.record = true});
  fixed.run();
  CHECK(passes_ahead(p, fixed.times()) == 0);
}

TEST_CASE("host: a window of nothing is refused") {
  program const p = catalog::find("1f1b")->make({devices{2}, micro_batches{2}}) | lower();
  conformance::network w(p);
  CHECK_THROWS_AS(host::runtime(p, w, {.window = 0}), std::invalid_argument);
}

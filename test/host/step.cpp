// Properties of a step: no allocation, and times that agree with the waits.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/hazards.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Counts what all threads allocate while it is on.
std::atomic<bool> counting = false;
std::atomic<int> allocations = 0;

void* counted_allocation(std::size_t size) {
  if (counting) ++allocations;
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc{};
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) { return counted_allocation(size); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  if (counting) ++allocations;
  auto const unit = static_cast<std::size_t>(alignment);
  if (void* const p = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return p;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace ashlar;

TEST_CASE("host: a step allocates nothing") {
  for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered}) {
    program const p = catalog::find("v-half")->make({devices{4}, micro_batches{8}}) | lower();
    conformance::network w(p.stage_count(), p.micro_batch_count());
    host::runtime runtime(p, w, {.mode = mode, .record = true});
    runtime.run();
    allocations = 0;
    counting = true;
    runtime.run();
    counting = false;
    CHECK(allocations == 0);
  }
}

TEST_CASE("host: nothing is received before it is sent, by the recorded times") {
  program const p = catalog::find("v-half")->make({devices{4}, micro_batches{6}}) | lower();
  for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered}) {
    conformance::network w(p.stage_count(), p.micro_batch_count());
    w.delays = 11;
    host::runtime runtime(p, w, {.mode = mode, .record = true});
    runtime.run();
    int pairs = 0;
    for (std::size_t s = 0; s < p.instructions.size(); ++s)
      for (std::size_t r = 0; r < p.instructions.size(); ++r) {
        instruction const &send = p.instructions[s], &receive = p.instructions[r];
        if (send.code != opcode::send || receive.code != opcode::receive || send.what != receive.what
            || send.to != receive.to)
          continue;
        ++pairs;
        CHECK(runtime.times()[s].begin <= runtime.times()[r].end);
        // A rendezvous lasts until both have come.
        if (mode == host::send_mode::rendezvous)
          CHECK(runtime.times()[r].begin <= runtime.times()[s].end);
      }
    CHECK(pairs == 2 * 6 * 6);  // forwards and backwards over the 7 edges but the one at the V's tip
  }
}

TEST_CASE("host: recorded times keep the lanes' orders and the waits") {
  program const p = catalog::find("zb-h1")->make({devices{3}, micro_batches{5}}) | lower();
  conformance::network w(p.stage_count(), p.micro_batch_count());
  w.delays = 7;
  host::runtime runtime(p, w, {.record = true});
  runtime.run();
  REQUIRE(runtime.times().size() == p.instructions.size());
  for (int d = 0; d < p.device_count(); ++d) {
    list_view<instruction> const stream = p.view().stream(d);
    wait_table const table = waits(p.view(), d, wait_detail::all);
    auto const* const times = runtime.times().data() + p.stream_begin[static_cast<std::size_t>(d)];
    // Passes follow each other; transfers are posted in order, and may be done in any.
    std::vector<std::int64_t> before(static_cast<std::size_t>(p.view().lane_count), 0);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      CHECK(times[i].begin <= times[i].end);
      std::int64_t& last = before[static_cast<std::size_t>(stream[i].lane)];
      CHECK(last <= times[i].begin);
      last = stream[i].lane == compute_lane ? times[i].end : times[i].begin;
      for (int other : table.of(static_cast<int>(i)))
        CHECK(times[static_cast<std::size_t>(other)].end <= times[i].begin);
    }
  }
}

// Many steps on the same requests.
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace ashlar;
using conformance::network;

namespace {

std::atomic<long> allocations = 0;
std::atomic<bool> counting = false;

}  // namespace

TEST_CASE("mpi: steps with random delays give the same bits a hundred times") {
  program const p = catalog::find("chimera")->make({devices{4}, micro_batches{4}}) | lower();
  network reference(p), w(p);
  sequential(p, reference).run();
  auto const expected = reference.take();
  mpi::runtime runtime(MPI_COMM_WORLD, p, w);
  for (std::uint64_t step = 1; step <= 100; ++step) {
    w.delays = 1 + step * 64 + static_cast<std::uint64_t>(mpi_test::process());
    runtime.run();
    mpi_test::share_results(std::vector{&w});
    CHECK(w.take() == expected);
  }
}

TEST_CASE("mpi: steps that offload have the bits, and allocate what is proved, on device and host") {
  schedule const s = catalog::find("gpipe")->make({devices{4}, micro_batches{6}});
  offload_options away{.forwards = {}, .copy = {1}};
  for (int stage = 0; stage < 4; ++stage)
    for (int k : {1, 2, 3}) away.forwards.push_back({pass_kind::forward, stage, k});
  program const p = lower(s, {.offload = away});
  network reference(p), w(p);
  mpi::runtime runtime(MPI_COMM_WORLD, p, w);
  slot_table const proved =
      slot_layout(p.view(), 0, mpi_test::process(), [&](value_key key) { return w.layout(key); });
  CHECK(runtime.slot_bytes() == proved.total);
  CHECK((runtime.host_slot_bytes() == proved.host_total && proved.host_total > 0));
  for (std::uint64_t step = 1; step <= 5; ++step) {
    sequential(p, reference).run();
    w.delays = 1 + step * 64 + static_cast<std::uint64_t>(mpi_test::process());
    runtime.run();
    mpi_test::share_results(std::vector{&w});
    CHECK(w.take() == reference.take());
  }
}

// Puts a malloc that counts in the place of the C library's, where that has another name for its own. A
// sanitizer brings a malloc of its own, which must stay.
#if defined(__GLIBC__) && !defined(ASHLAR_SANITIZED)

extern "C" void* __libc_malloc(std::size_t);

extern "C" void* malloc(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
constexpr bool counts = true;
#else
constexpr bool counts = false;
#endif

TEST_CASE("mpi: steps with ordered sums allocate nothing, nor does MPI in the end") {
  program const p =
      catalog::find("1f1b")->make({devices{2}, micro_batches{8}})
      | lower({.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
  conformance::sharded_network w(p, mpi_test::process() / 2);
  mpi::runtime runtime(MPI_COMM_WORLD, p, w);
  for (int step = 0; step < 50; ++step) runtime.run();  // the library's own lists grow at first
  counting = true;
  for (int step = 0; step < 20; ++step) runtime.run();
  counting = false;
  CHECK(allocations.exchange(0) == 0);
  if (!counts) return;
  // The count is alive; volatile memory is not optimised away.
  counting = true;
  void* const volatile memory = std::malloc(100);
  counting = false;
  std::free(memory);
  CHECK(allocations.exchange(0) == 1);
}

// Passes do not allocate, neither by new nor, as Eigen does, by malloc.
#include "support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace {

std::atomic<long> allocations = 0;
std::atomic<bool> counting = false;

}  // namespace

// Puts a malloc that counts in the place of the C library's, where that has another name for its own. A
// sanitizer brings a malloc of its own, which must stay.
#if defined(__GLIBC__) && !defined(ASHLAR_SANITIZED)

extern "C" void* __libc_malloc(std::size_t);

extern "C" void* malloc(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

TEST_CASE("a step allocates nothing") {
  // The shape is so large that products do not fit Eigen's limit for packing on the stack in one piece.
  gpt::config const shape{.blocks = 2,
                          .width = 144,
                          .heads = 4,
                          .context = 64,
                          .sequences = 5,
                          .micro_batches = 1,
                          .stages = 2};
  gpt::worker<float> w(shape, 1);
  w.set_batch(gpt_test::batch_for(shape));
  gpt::sequential<float> run(w);

  allocations = 0;
  counting = true;
  run.step(gpt::backward_form::split, gpt::memory_form::recompute);
  run.step(gpt::backward_form::fused, gpt::memory_form::keep);
  counting = false;
  CHECK(allocations.load() == 0);

  // The count is alive; volatile memory is not optimised away.
  counting = true;
  void* const volatile memory = std::malloc(100);
  counting = false;
  std::free(memory);
  CHECK(allocations.load() == 1);
}

#endif

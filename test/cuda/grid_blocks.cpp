// The grid runner: kernels that are right, and those that are wrong in the ways that GPUs do not
// forgive.
#include "substituted.hpp"
#include "truth.hpp"
#include <ashlar/cuda/fragment.hpp>
#include <ashlar/cuda/launch.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

ASHLAR_KERNEL reverse_by_shared(float const* in, float* out, bool wait) {
  auto* const all = cuda::shared_memory<float>();
  all[cuda::thread()] = in[cuda::thread()];
  if (wait) cuda::barrier();
  out[cuda::thread()] = all[cuda::threads() - 1 - cuda::thread()];
}

ASHLAR_KERNEL append_own_block(float* to) { *to = 2 * *to + static_cast<float>(cuda::block_x()); }

ASHLAR_KERNEL count_through_barriers(float* out, int barriers) {
  auto* const all = cuda::shared_memory<float>();
  all[cuda::thread()] = static_cast<float>(cuda::thread());
  for (int i = 0; i < barriers; ++i) {
    cuda::barrier();
    float const next = all[(cuda::thread() + 1) % cuda::threads()];
    cuda::barrier();
    all[cuda::thread()] = next;
  }
  out[cuda::thread()] = all[cuda::thread()];
}

ASHLAR_KERNEL wait_apart() {
  if (cuda::thread() < 40)
    cuda::barrier();
  else
    cuda::barrier();
}

ASHLAR_KERNEL leave_before_barrier(float* out, int stay) {
  if (cuda::thread() >= stay) return;
  cuda::barrier();
  out[cuda::thread()] = 1;
}

ASHLAR_KERNEL shuffle_some_lanes(float* out, int lanes) {
  if (cuda::thread() < lanes) out[cuda::thread()] = cuda::shuffle_xor(1.0F, 1);
}

ASHLAR_KERNEL shuffle_or_wait() {
  if (cuda::thread() == 5)
    cuda::barrier();
  else
    static_cast<void>(cuda::shuffle_xor(1, 1));
}

ASHLAR_KERNEL throw_in_one() {
  if (cuda::thread() == 3) throw std::runtime_error("a thread throws");
  cuda::barrier();
}

ASHLAR_KERNEL keep_shared(float* out) {
  auto* const all = cuda::shared_memory<float>();
  out[cuda::block_x()] = all[0];
  all[0] = 1;
}

ASHLAR_KERNEL butterfly(double* out, int mask) {
  out[cuda::thread()] = cuda::shuffle_xor(static_cast<double>(cuda::thread()), mask);
}

ASHLAR_KERNEL multiply_some_lanes(int lanes) {
  cuda::sum_fragment sums = {};
  if (cuda::thread() < lanes) add_product(sums, {}, {});
}

ASHLAR_KERNEL load_unaligned(int elements) {
  auto* const tile = cuda::shared_memory<cuda::bf16>();
  static_cast<void>(cuda::load_fragment(tile + elements, 24));
}

ASHLAR_KERNEL read_before_copied(float const* in, float* out, bool wait) {
  auto* const all = cuda::shared_memory<float>();
  cuda::copy_async(all + cuda::thread(), in + cuda::thread(), true);
  if (wait) cuda::await_copies();
  out[cuda::thread()] = all[cuda::thread()];
}

template <class... P, class... A>
std::vector<float> result_of(void (*kernel)(P...), cuda::grid blocks, int threads, std::size_t shared,
                             A... a) {
  auto const s = cuda::stream::make();
  numbers const out(std::vector<float>(1024, -1));
  cuda::launch(kernel, blocks, threads, shared, s.get(), out.data(), a...);
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  return out.on_host();
}

std::vector<float> reversed(std::uint64_t seed, bool wait) {
  substituted const machine({.seed = seed});
  std::vector<float> v(64);
  for (std::size_t i = 0; i < 64; ++i) v[i] = static_cast<float>(i);
  numbers const in(v), out(64);
  auto const s = cuda::stream::make();
  cuda::launch(reverse_by_shared, {}, 64, 64 * sizeof(float), s.get(), in.data(), out.data(), wait);
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  return out.on_host();
}

// The reason why the device failed.
template <class... P, class... A>
std::string fault_of(void (*kernel)(P...), int threads, A... a) {
  substituted const machine({.guard = false});
  auto const s = cuda::stream::make();
  cuda::launch(kernel, {}, threads, 2048, s.get(), a...);
  CHECK(cudaStreamSynchronize(s.get()) == cudaErrorLaunchFailure);
  auto const all = cuda_substitute::faults();
  REQUIRE(all.size() == 1);
  return all.front();
}

bool says(std::string const& text, std::string const& part) {
  INFO(text);
  bool const found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("cuda grid: a missing barrier shows") {
  std::vector<float> expected(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = static_cast<float>(63 - i);
  std::set<std::string> wrong;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CHECK(reversed(seed, true) == expected);
    std::vector<float> const without = reversed(seed, false);
    CHECK(without != expected);
    std::string which;
    for (std::size_t i = 0; i < 64; ++i) which += without[i] == expected[i] ? '.' : 'x';
    wrong.insert(which);
  }
  CHECK(wrong.size() > 5);  // and another one for most seeds
}

TEST_CASE("cuda grid: what depends on the order of blocks shows") {
  std::set<float> found;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    substituted const machine({.seed = seed});
    found.insert(result_of(append_own_block, {8}, 1, 0).front());
  }
  CHECK(found.size() > 10);
}

TEST_CASE("cuda grid: the order of threads and blocks is the seed's") {
  substituted const machine;
  std::set<float> found;
  for (int i = 0; i < 10; ++i) {
    cuda_substitute::reset({.seed = 7});
    found.insert(result_of(append_own_block, {8}, 1, 0).front());
  }
  CHECK(found.size() == 1);
}

TEST_CASE("cuda grid: threads go on from barrier to barrier together") {
  substituted const machine;
  for (int const threads : {1, 31, 64, 1024}) {
    auto const n = static_cast<std::size_t>(threads);
    std::vector<float> const found =
        result_of(count_through_barriers, {}, threads, n * sizeof(float), 10);
    for (std::size_t i = 0; i < n; ++i) CHECK(found[i] == static_cast<float>((i + 10) % n));
  }
}

TEST_CASE("cuda grid: threads that have ended are not waited for at a barrier") {
  substituted const machine;
  std::vector<float> const found = result_of(leave_before_barrier, {}, 64, 0, 40);
  CHECK(std::count(found.begin(), found.end(), 1.0F) == 40);
}

TEST_CASE("cuda grid: threads at two barriers are an error that names both") {
  std::string const fault = fault_of(wait_apart, 64);
  says(fault,
       "in block (0, 0, 0) threads wait for threads that do not come: thread 0 waits at the barrier of");
  says(fault, ", thread 40 waits at the barrier of");
  says(fault, "grid_blocks.cpp:");
}

TEST_CASE("cuda grid: a shuffle without all lanes is an error that names one that does not come") {
  says(fault_of(shuffle_some_lanes, 64, static_cast<float*>(nullptr), 20), "thread 20 has ended");
  says(fault_of(shuffle_some_lanes, 16, static_cast<float*>(nullptr), 16), "there is no thread 16");
  says(fault_of(shuffle_or_wait, 32), "thread 0 waits at the shuffle of");
  says(fault_of(shuffle_or_wait, 32), "thread 5 waits at the barrier of");
}

TEST_CASE("cuda grid: a product without all lanes is an error, and so are rows that are not aligned") {
  says(fault_of(multiply_some_lanes, 32, 31), "thread 0 waits at the product of");
  says(fault_of(multiply_some_lanes, 32, 31), "thread 31 has ended");
  says(fault_of(load_unaligned, 32, 4), "rows of a fragment's tile are not aligned to 16 bytes");
}

TEST_CASE("cuda grid: what is copied is there once it was awaited, and not before") {
  substituted const machine;
  numbers const in(std::vector<float>(64, 5));
  for (bool const wait : {true, false}) {
    auto const s = cuda::stream::make();
    numbers const out(64);
    cuda::launch(read_before_copied, {}, 64, 64 * sizeof(float), s.get(), in.data(), out.data(), wait);
    ASHLAR_CUDA(cudaStreamSynchronize, s.get());
    for (float const x : out.on_host()) CHECK((x == 5) == wait);
  }
}

TEST_CASE("cuda grid: what a thread throws ends the kernel, and the next one runs") {
  says(fault_of(throw_in_one, 64), "a kernel: a thread throws");
  substituted const machine;
  CHECK(result_of(leave_before_barrier, {}, 64, 0, 64).front() == 1);
}

TEST_CASE("cuda grid: no block sees the shared memory of another") {
  substituted const machine;
  std::vector<float> const found = result_of(keep_shared, {4}, 1, sizeof(float));
  for (std::size_t b = 0; b < 4; ++b) CHECK(found[b] != found[b]);  // not a number
}

TEST_CASE("cuda grid: lanes exchange values of eight bytes within their warp") {
  substituted const machine;
  auto const s = cuda::stream::make();
  cuda::device_memory const out(96 * sizeof(double));
  for (int mask : {0, 1, 16, 31}) {
    cuda::launch(butterfly, {}, 96, 0, s.get(), reinterpret_cast<double*>(out.data()), mask);
    std::vector<double> found(96);
    ASHLAR_CUDA(cudaStreamSynchronize, s.get());
    ASHLAR_CUDA(cudaMemcpy, found.data(), out.data(), out.size(), cudaMemcpyDeviceToHost);
    for (int t = 0; t < 96; ++t) CHECK(found[static_cast<std::size_t>(t)] == (t ^ mask));
  }
}

TEST_CASE("cuda grid: more shared memory than usual must be allowed first, which a launch does") {
  substituted const machine;
  constexpr int much = 100 << 10;
  CHECK(cuda::launch_grid({}, 1, much, nullptr, [] {}) == cudaErrorInvalidValue);
  CHECK_THROWS_AS(result_of(keep_shared, {}, 1, 228 << 10), cuda::error);
  CHECK(cudaFuncSetAttribute(keep_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10)
        == cudaErrorInvalidValue);
  CHECK(cuda::launch_grid({}, 1, much, nullptr, [] {}) == cudaErrorInvalidValue);
  CHECK(result_of(keep_shared, {}, 1, much).size() == 1024);
}

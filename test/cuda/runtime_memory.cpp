// The substitute's memory: refusals, memory that the host cannot touch, counts.
#include "substituted.hpp"
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

// Reads in a process of its own, which may not survive it.
bool can_read(void const* address) {
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    static_cast<void>(close(STDERR_FILENO));  // a sanitizer's report is expected
    char const volatile seen = *static_cast<char const volatile*>(address);
    static_cast<void>(seen);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("cuda substitute: the host cannot read device memory once it knows that all is done") {
  substituted const machine;
  numbers const x(10);
  cuda::pinned_memory const locked(100);
  CHECK_FALSE(can_read(x.data()));
  CHECK(can_read(locked.data()));
  auto const s = cuda::stream::make();
  add(x.data(), 1, x.count(), s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK_FALSE(can_read(x.data()));
  CHECK(x.on_host() == std::vector<float>(10, 1));
}

TEST_CASE("cuda substitute: without a guard the host can read device memory") {
  substituted const machine({.guard = false});
  numbers const x(10);
  CHECK(can_read(x.data()));
}

TEST_CASE("cuda substitute: freed memory can be neither read nor copied nor freed again") {
  substituted const machine({.guard = false});
  void* p = nullptr;
  ASHLAR_CUDA(cudaMalloc, &p, 100UL);
  std::vector<std::byte> host(100);
  CHECK(cudaMemcpy(p, host.data(), 100, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(can_read(p));
  CHECK(cudaFree(p) == cudaSuccess);
  CHECK_FALSE(can_read(p));
  CHECK(cudaMemcpy(p, host.data(), 100, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(p, host.data(), 100, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemset(p, 0, 1) == cudaErrorInvalidValue);
  CHECK(cudaFree(p) == cudaErrorInvalidValue);
}

TEST_CASE("cuda substitute: a range must lie within one allocation") {
  substituted const machine({.devices = 2});
  cuda::device_memory const a(100), b(100);
  cuda::pinned_memory const locked(100);
  std::vector<std::byte> host(200);
  CHECK(cudaMemset(a.data(), 0, 101) == cudaErrorInvalidValue);
  CHECK(cudaMemset(a.data() + 50, 0, 51) == cudaErrorInvalidValue);
  CHECK(cudaMemset(a.data() + 50, 0, 50) == cudaSuccess);
  CHECK(cudaMemset(a.data() - 1, 0, 2) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(locked.data(), host.data(), 101, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(a.data(), host.data(), 101, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyPeerAsync(a.data(), 1, b.data(), 0, 10)
        == cudaErrorInvalidValue);  // both are on device 0
  CHECK(cudaMemcpyPeerAsync(a.data(), 0, locked.data(), 0, 10) == cudaErrorInvalidValue);
  CHECK(cuda_substitute::is_device_memory(a.data() + 10, 90));
  CHECK(cuda_substitute::is_device_memory(a.data(), 100, 0));
  CHECK_FALSE(cuda_substitute::is_device_memory(a.data(), 100, 1));
  CHECK_FALSE(cuda_substitute::is_device_memory(a.data() + 10, 91));
  CHECK_FALSE(cuda_substitute::is_device_memory(locked.data(), 1));
}

TEST_CASE("cuda substitute: memory that nobody wrote is not a number") {
  substituted const machine;
  cuda::device_memory const fresh(400);
  std::vector<float> found(100);
  ASHLAR_CUDA(cudaMemcpy, found.data(), fresh.data(), fresh.size(), cudaMemcpyDeviceToHost);
  for (float x : found) CHECK(std::isnan(x));
}

TEST_CASE("cuda substitute: a device has as much memory as the settings say") {
  substituted const machine({.devices = 2, .memory = 1000});
  std::size_t free = 0, total = 0;
  {
    cuda::device_memory const a(400);
    cuda::device_memory const b(500);
    ASHLAR_CUDA(cudaMemGetInfo, &free, &total);
    CHECK(free == 100);
    CHECK(total == 1000);
    void* p = nullptr;
    CHECK(cudaMalloc(&p, 101) == cudaErrorMemoryAllocation);
    cuda::on_gpu const other(1);
    CHECK(cudaMalloc(&p, 1000) == cudaSuccess);
    CHECK(cudaFree(p) == cudaSuccess);
  }
  ASHLAR_CUDA(cudaMemGetInfo, &free, &total);
  CHECK(free == 1000);
  CHECK(cuda_substitute::most_device_bytes(0) == 900);
  CHECK(cuda_substitute::most_device_bytes(1) == 1000);
}

TEST_CASE("cuda substitute: copies go between devices") {
  substituted const machine({.devices = 2});
  numbers const here(std::vector<float>{1, 2, 3});
  cuda::on_gpu const other(1);
  numbers const there(3);
  auto const s = cuda::stream::make();
  ASHLAR_CUDA(cudaMemcpyPeerAsync, there.data(), 1, here.data(), 0, 12UL, s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(there.on_host() == std::vector<float>{1, 2, 3});
  int can = 0;
  ASHLAR_CUDA(cudaDeviceCanAccessPeer, &can, 1, 0);
  CHECK(can == 1);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaSuccess);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
}

TEST_CASE("cuda substitute: freeing memory waits for the device") {
  substituted const machine;
  auto const s = cuda::stream::make();
  numbers const result(1000);
  {
    numbers const x(std::vector<float>(1000, 2));
    for (int i = 0; i < 10; ++i) append_bit(x.data(), 0, x.count(), s.get());
    ASHLAR_CUDA(cudaMemcpyAsync, result.data(), x.data(), 4000UL, cudaMemcpyDeviceToDevice, s.get());
  }
  CHECK(cudaStreamQuery(s.get()) == cudaSuccess);
  CHECK(result.on_host() == std::vector<float>(1000, 2048));
}

TEST_CASE("cuda substitute: what is alive is counted") {
  substituted const machine;
  using cuda_substitute::live_objects;
  {
    auto const s = cuda::stream::make();
    auto const e = cuda::event::make();
    cuda::device_memory const a(10), b(20);
    cuda::pinned_memory const locked(30);
    ASHLAR_CUDA(cudaStreamBeginCapture, s.get(), cudaStreamCaptureModeRelaxed);
    cudaGraph_t g = nullptr;
    ASHLAR_CUDA(cudaStreamEndCapture, s.get(), &g);
    cuda::graph const owned(g);
    cudaGraphExec_t x = nullptr;
    ASHLAR_CUDA(cudaGraphInstantiate, &x, g, 0ULL);
    cuda::executable_graph const also_owned(x);
    CHECK(cuda_substitute::live()
          == live_objects{.streams = 1,
                          .events = 1,
                          .graphs = 1,
                          .executable_graphs = 1,
                          .device_allocations = 2,
                          .device_bytes = 30,
                          .host_allocations = 1,
                          .host_bytes = 30});
  }
  CHECK(cuda_substitute::live() == live_objects{});
}

// Calls and operations that fail because the test says so, and the answers of a failed device.
#include "substituted.hpp"
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

// Does some of everything. Throws cuda::error.
std::vector<float> some_work() {
  numbers const x(100);
  cuda::pinned_memory const out(100 * sizeof(float));
  auto const s = cuda::stream::make(), t = cuda::stream::make();
  auto const there = cuda::event::make(), back = cuda::event::make();
  ASHLAR_CUDA(cudaStreamBeginCapture, s.get(), cudaStreamCaptureModeThreadLocal);
  cudaGraph_t captured = nullptr;
  try {
    ASHLAR_CUDA(cudaEventRecord, there.get(), s.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), there.get(), 0U);
    add(x.data(), 1, x.count(), t.get());
    ASHLAR_CUDA(cudaEventRecord, back.get(), t.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), back.get(), 0U);
    append_bit(x.data(), 1, x.count(), s.get());
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(s.get(), &captured));
    static_cast<void>(cudaGetLastError());
    cuda::graph const dropped(captured);
    throw;
  }
  ASHLAR_CUDA(cudaStreamEndCapture, s.get(), &captured);
  cuda::graph const owned(captured);
  cudaGraphExec_t executable = nullptr;
  ASHLAR_CUDA(cudaGraphInstantiate, &executable, captured, 0ULL);
  cuda::executable_graph const also_owned(executable);
  ASHLAR_CUDA(cudaGraphLaunch, executable, s.get());
  ASHLAR_CUDA(cudaMemcpyAsync, out.data(), x.data(), out.size(), cudaMemcpyDeviceToHost, s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  auto const* const first = reinterpret_cast<float const*>(out.data());
  return {first, first + 100};
}

}  // namespace

TEST_CASE("cuda substitute: each call can be made to fail, and nothing leaks") {
  std::vector<std::string> calls;
  {
    substituted const machine({.list_calls = true});
    CHECK(some_work() == std::vector<float>(100, 3));
    calls = cuda_substitute::calls();
    CHECK(calls.size() == cuda_substitute::call_count());
  }
  REQUIRE(calls.size() > 25);
  std::size_t threw = 0;
  for (std::size_t n = 0; n < calls.size(); ++n) {
    CAPTURE(n);
    CAPTURE(calls[n]);
    substituted const machine;
    cuda_substitute::fail_call(n, cudaErrorUnknown);
    try {
      std::vector<float> const result = some_work();  // whether something was given back is not asked
      CHECK(result == std::vector<float>(100, 3));
      bool const gives_back =
          calls[n].find("Destroy") != std::string::npos || calls[n].find("Free") == 4;
      CHECK(gives_back);
    } catch (cuda::error const& e) {
      ++threw;
      std::string const named = e.call() == "a kernel launch" ? "cudaLaunchKernel" : e.call();
      CHECK(named == calls[n]);
      CHECK(e.reason() == "unknown error (cudaErrorUnknown)");
    }
    CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
  }
  CHECK(threw >= 15);
}

TEST_CASE(
    "cuda substitute: an operation that fails does not happen, and its device answers nothing else") {
  substituted const machine({.devices = 2});
  numbers const x(10);
  auto const s = cuda::stream::make();
  auto const e = cuda::event::make();
  cuda_substitute::fail_operation(1, cudaErrorIllegalAddress);
  add(x.data(), 1, x.count(), s.get());
  add(x.data(), 1, x.count(), s.get());
  static_cast<void>(cudaEventRecord(e.get(), s.get()));
  CHECK(cudaStreamSynchronize(s.get()) == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);  // it stays
  CHECK(cudaEventQuery(e.get()) == cudaErrorIllegalAddress);
  CHECK(cudaMemsetAsync(x.data(), 0, 8, s.get()) == cudaErrorIllegalAddress);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 10) == cudaErrorIllegalAddress);
  CHECK(cuda_substitute::faults() == std::vector<std::string>{"a kernel: chosen to fail"});
  cuda::on_gpu const other(1);  // knows nothing of it
  CHECK(cudaMalloc(&p, 10) == cudaSuccess);
  CHECK(cudaFree(p) == cudaSuccess);
}

TEST_CASE("cuda substitute: a device that has failed is a new one after a reset") {
  substituted const machine;
  {
    numbers const x(10);
    cuda_substitute::fail_operation(0, cudaErrorECCUncorrectable);
    CHECK(cudaMemset(x.data(), 0, 8) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaErrorECCUncorrectable);
  }
  CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
  cuda_substitute::reset();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(some_work() == std::vector<float>(100, 3));
}

TEST_CASE("cuda substitute: what an operation throws makes its device fail, in words") {
  substituted const machine;
  auto const s = cuda::stream::make();
  CHECK(cuda_substitute::enqueue(s.get(), "a sum", [] { throw std::runtime_error("no peer"); })
        == cudaSuccess);
  CHECK(cudaStreamSynchronize(s.get()) == cudaErrorLaunchFailure);
  CHECK(cuda_substitute::faults() == std::vector<std::string>{"a sum: no peer"});
}

TEST_CASE("cuda substitute: a host function may not call CUDA") {
  substituted const machine;
  auto const s = cuda::stream::make();
  cudaError_t answer = cudaSuccess;
  ASHLAR_CUDA(
      cudaLaunchHostFunc, s.get(),
      [](void* p) { *static_cast<cudaError_t*>(p) = cudaDeviceSynchronize(); }, &answer);
  CHECK(cudaStreamSynchronize(s.get()) == cudaSuccess);
  CHECK(answer == cudaErrorNotPermitted);
}

TEST_CASE("cuda substitute: what was destroyed is no handle") {
  substituted const machine;
  auto s = cuda::stream::make();
  auto e = cuda::event::make();
  cudaStream_t const stream = s.get();
  cudaEvent_t const event = e.get();
  s = {};
  e = {};
  cuda::stream const another = cuda::stream::make();
  { cuda::stream const dropped = std::move(s); }
  { cuda::event const dropped = std::move(e); }
  CHECK(cudaStreamSynchronize(stream)
        == (stream == another.get() ? cudaSuccess : cudaErrorInvalidResourceHandle));
  CHECK(cudaEventQuery(event) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("cuda substitute: streams and events belong to devices") {
  substituted const machine({.devices = 2});
  auto const s = cuda::stream::make();
  numbers const x(10);
  cuda::on_gpu const other(1);
  auto const e = cuda::event::make();
  CHECK(cudaEventRecord(e.get(), s.get()) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamWaitEvent(s.get(), e.get()) == cudaSuccess);
  CHECK_THROWS_AS(add(x.data(), 1, 10, s.get()), cuda::error);
  CHECK(cuda_substitute::device_of(s.get()) == 0);
  CHECK(cuda_substitute::device_of(nullptr) == 1);
}

TEST_CASE("cuda substitute: a machine without devices says so") {
  substituted const machine({.devices = 0});
  int n = -1;
  CHECK(cudaGetDeviceCount(&n) == cudaErrorNoDevice);
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 10) == cudaErrorNoDevice);
}

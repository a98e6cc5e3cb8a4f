// Memory, copies, kernels and refusals: true of GPUs and of their substitute.
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

std::vector<float> one_to(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1.0F);
  return v;
}

// Rounds by the definition: the nearest number with 8 bits, of two the one whose last bit is 0.
float rounded_to_bf16(float x) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  auto const down = std::bit_cast<float>(bits & 0xffff0000U);
  auto const up = std::bit_cast<float>((bits & 0xffff0000U) + 0x10000U);
  double const to_down = std::abs(double{x} - double{down}), to_up = std::abs(double{up} - double{x});
  if (to_down != to_up) return to_down < to_up ? down : up;
  return (bits & 0x10000U) == 0 ? down : up;
}

std::string refusal_of_launch(int blocks_x, int blocks_y, int threads, int shared) {
  auto const s = cuda::stream::make();
  try {
    launch_nothing(blocks_x, blocks_y, threads, shared, s.get());
    ASHLAR_CUDA(cudaStreamSynchronize, s.get());
    return "";
  } catch (cuda::error const& e) {
    return e.reason();
  }
}

}  // namespace

TEST_CASE("gpu truth: copies keep their order in a stream, from and to page-locked memory") {
  auto const s = cuda::stream::make();
  constexpr std::size_t bytes = 1000 * sizeof(float);
  cuda::pinned_memory const in(bytes), out(bytes);
  cuda::device_memory const here(bytes), there(bytes);
  std::vector<float> const v = one_to(1000);
  std::memcpy(in.data(), v.data(), bytes);
  gate g;
  g.close(s.get());
  ASHLAR_CUDA(cudaMemcpyAsync, here.data(), in.data(), bytes, cudaMemcpyHostToDevice, s.get());
  ASHLAR_CUDA(cudaMemcpyAsync, there.data(), here.data(), bytes, cudaMemcpyDeviceToDevice, s.get());
  ASHLAR_CUDA(cudaMemsetAsync, there.data(), 0, 40UL, s.get());
  ASHLAR_CUDA(cudaMemcpyPeerAsync, here.data(), 0, there.data(), 0, bytes, s.get());
  ASHLAR_CUDA(cudaMemcpyAsync, out.data(), here.data(), bytes, cudaMemcpyDefault, s.get());
  g.open();
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  std::vector<float> expected = v, found(1000);
  std::fill_n(expected.begin(), 10, 0.0F);
  std::memcpy(found.data(), out.data(), bytes);
  CHECK(found == expected);
}

TEST_CASE("gpu truth: memory that is not page-locked is read before the call returns") {
  auto const s = cuda::stream::make();
  numbers x(8);
  gate g;
  std::vector<float> v = one_to(8);
  ASHLAR_CUDA(cudaMemcpyAsync, x.data(), v.data(), 8 * sizeof(float), cudaMemcpyHostToDevice, s.get());
  v.assign(8, 0);
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(x.on_host() == one_to(8));
}

TEST_CASE("gpu truth: CUDA knows whose memory is whose") {
  cuda::device_memory const device(1000);
  cuda::pinned_memory const locked(1000);
  std::vector<std::byte> const other(1000);
  cudaPointerAttributes a{};
  CHECK(cudaPointerGetAttributes(&a, device.data() + 500) == cudaSuccess);
  CHECK(a.type == cudaMemoryTypeDevice);
  CHECK(a.device == 0);
  CHECK(a.devicePointer == device.data() + 500);
  CHECK(cudaPointerGetAttributes(&a, locked.data()) == cudaSuccess);
  CHECK(a.type == cudaMemoryTypeHost);
  CHECK(a.hostPointer == locked.data());
  CHECK(cudaPointerGetAttributes(&a, other.data()) == cudaSuccess);
  CHECK(a.type == cudaMemoryTypeUnregistered);
}

TEST_CASE("gpu truth: calls with bad arguments say so") {
  auto const s = cuda::stream::make();
  cuda::device_memory const device(1000);
  std::vector<std::byte> host(1000);
  void* p = &host;
  int n = 0;
  CHECK(cudaSetDevice(-1) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(1000) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetDevice(&n) == cudaSuccess);
  CHECK(n == 0);
  CHECK(cudaDeviceCanAccessPeer(&n, 0, 1000) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
  CHECK(cudaMalloc(&p, std::size_t{1} << 50U) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&p, 0) == cudaSuccess);
  CHECK(p == nullptr);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaFreeHost(nullptr) == cudaSuccess);
  CHECK(cudaFree(host.data()) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(host.data()) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(device.data(), host.data(), 8, static_cast<cudaMemcpyKind>(7), s.get())
        == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpyAsync(host.data(), host.data(), 8, cudaMemcpyHostToDevice, s.get())
        == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(nullptr, host.data(), 8, cudaMemcpyDefault, s.get()) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host.data(), 0, 8, s.get()) == cudaErrorInvalidValue);
  CHECK(cudaEventRecord(nullptr, s.get()) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventDestroy(nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamDestroy(nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGraphDestroy(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaGraphExecDestroy(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaGraphLaunch(nullptr, s.get()) == cudaErrorInvalidValue);
  CHECK(cudaLaunchHostFunc(s.get(), nullptr, nullptr) == cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
  CHECK(cudaStreamSynchronize(s.get()) == cudaSuccess);  // none of them is kept
}

TEST_CASE("gpu truth: kernels know where they are") {
  auto const s = cuda::stream::make();
  cuda::device_memory const memory(12 * 6 * sizeof(int));
  places(reinterpret_cast<int*>(memory.data()), s.get());
  std::vector<int> found(72);
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  ASHLAR_CUDA(cudaMemcpy, found.data(), memory.data(), memory.size(), cudaMemcpyDeviceToHost);
  std::vector<int> expected;
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x) expected.insert(expected.end(), {x, y, z, 3, 64, 63 * 64 / 2});
  CHECK(found == expected);
}

TEST_CASE("gpu truth: a block adds up by shuffles and shared memory") {
  auto const s = cuda::stream::make();
  numbers const x(one_to(1000)), total(1);
  sum(x.data(), total.data(), x.count(), s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(total.on_host().front() == 500500);
}

TEST_CASE("gpu truth: bf16 is the nearest, and of two the even one") {
  std::vector<float> values = {0.0F,         -0.0F,   1.0F,   1.00390625F, 1.01171875F,
                               -1.00390625F, 3.0e38F, 1e-40F, -2.5e-41F};
  std::uint32_t state = 12345;
  for (int i = 0; i < 2000; ++i) {
    state = state * 1664525U + 1013904223U;
    auto const x = std::bit_cast<float>(state);
    if (std::abs(x) < 3e38F) values.push_back(x);
  }
  auto const s = cuda::stream::make();
  numbers const in(values), out(values.size());
  round(in.data(), out.data(), in.count(), s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  std::vector<float> const found = out.on_host();
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(values[i]);
    CHECK(std::bit_cast<std::uint32_t>(found[i])
          == std::bit_cast<std::uint32_t>(rounded_to_bf16(values[i])));
  }
}

TEST_CASE("gpu truth: bf16 keeps what is no number, and infinity") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  auto const s = cuda::stream::make();
  numbers const in(
      {inf, -inf, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}),
      out(4);
  round(in.data(), out.data(), 4, s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  std::vector<float> const found = out.on_host();
  CHECK(found[0] == inf);
  CHECK(found[1] == -inf);
  CHECK(std::isnan(found[2]));
  CHECK(found[3] == inf);  // rounded up
}

TEST_CASE("gpu truth: a launch that cannot be is refused") {
  CHECK(refusal_of_launch(1, 1, 1024, 0).empty());
  CHECK(refusal_of_launch(1, 1, 32, 48 << 10).empty());
  CHECK(refusal_of_launch(1, 1, 1025, 0).find("cudaErrorInvalidValue") != std::string::npos);
  CHECK(refusal_of_launch(0, 1, 32, 0).find("cudaErrorInvalidValue") != std::string::npos);
  CHECK(refusal_of_launch(1, 65536, 32, 0).find("cudaErrorInvalidValue") != std::string::npos);
  CHECK(refusal_of_launch(1, 1, 0, 0).find("cudaErrorInvalidValue") != std::string::npos);
  CHECK(refusal_of_launch(1, 1, 32, (48 << 10) + 4).empty());  // it is asked for
  CHECK(refusal_of_launch(1, 1, 32, 228 << 10).find("cudaErrorInvalidValue") != std::string::npos);
}

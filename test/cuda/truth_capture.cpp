// The calls that capture allows, and their results: true of GPUs and of their substitute.
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <ostream>
#include <thread>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

constexpr auto global = cudaStreamCaptureModeGlobal, local = cudaStreamCaptureModeThreadLocal,
               relaxed = cudaStreamCaptureModeRelaxed;

// The result of a call in a capture, and then of the end of the capture.
struct answers {
  cudaError_t call, end;
  bool operator==(answers const&) const = default;
  friend std::ostream& operator<<(std::ostream& to, answers const& a) {
    return to << cudaGetErrorName(a.call) << ", " << cudaGetErrorName(a.end);
  }
};

constexpr answers fine{cudaSuccess, cudaSuccess};
constexpr answers unsupported{cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated};

// Two streams, an event recorded before the capture, and one recorded in it.
struct capture_case {
  cuda::stream origin = cuda::stream::make(), other = cuda::stream::make();
  cuda::event outside = cuda::event::make(), inside = cuda::event::make();
  numbers x = numbers(10);

  answers of(cudaStreamCaptureMode mode, std::function<cudaError_t()> const& call) {
    ASHLAR_CUDA(cudaEventRecord, outside.get(), other.get());
    ASHLAR_CUDA(cudaStreamSynchronize, other.get());
    ASHLAR_CUDA(cudaStreamBeginCapture, origin.get(), mode);
    add(x.data(), 1, x.count(), origin.get());
    ASHLAR_CUDA(cudaEventRecord, inside.get(), origin.get());
    answers a{call(), cudaSuccess};
    cudaGraph_t g = nullptr;
    a.end = cudaStreamEndCapture(origin.get(), &g);
    CHECK((g != nullptr) == (a.end == cudaSuccess));
    cuda::graph const owned(g);
    static_cast<void>(cudaGetLastError());
    return a;
  }
};

cudaError_t allocate_and_free() {
  void* p = nullptr;
  cudaError_t const error = cudaMalloc(&p, 1000);
  if (p != nullptr) static_cast<void>(cudaFree(p));
  return error;
}

}  // namespace

TEST_CASE("gpu truth: a stream that captures can be neither waited for nor asked") {
  capture_case c;
  for (auto mode : {global, local, relaxed}) {
    CAPTURE(mode);
    CHECK(c.of(mode, [&] { return cudaStreamSynchronize(c.origin.get()); }) == unsupported);
    CHECK(c.of(mode, [&] { return cudaStreamQuery(c.origin.get()); }) == unsupported);
  }
}

TEST_CASE("gpu truth: an event of a capture can be neither waited for nor asked") {
  capture_case c;
  constexpr answers captured{cudaErrorCapturedEvent, cudaErrorStreamCaptureInvalidated};
  for (auto mode : {global, local, relaxed}) {
    CAPTURE(mode);
    CHECK(c.of(mode, [&] { return cudaEventSynchronize(c.inside.get()); }) == captured);
    CHECK(c.of(mode, [&] { return cudaEventQuery(c.inside.get()); }) == captured);
  }
}

TEST_CASE("gpu truth: an event of a capture is captured until it is recorded again") {
  capture_case c;
  CHECK(c.of(local, [] { return cudaSuccess; }) == fine);
  CHECK(cudaEventQuery(c.inside.get()) == cudaErrorInvalidValue);
  CHECK(cudaStreamWaitEvent(c.other.get(), c.inside.get()) == cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
  CHECK(cudaEventRecord(c.inside.get(), c.other.get()) == cudaSuccess);
  CHECK(cudaEventSynchronize(c.inside.get()) == cudaSuccess);
}

TEST_CASE("gpu truth: what may wait for the device is not allowed, unless the capture is relaxed") {
  capture_case c;
  for (auto mode : {global, local}) {
    CAPTURE(mode);
    CHECK(c.of(mode, allocate_and_free) == unsupported);
    CHECK(c.of(mode, [&] { return cudaEventQuery(c.outside.get()); }) == unsupported);
  }
  CHECK(c.of(relaxed, allocate_and_free) == fine);
  CHECK(c.of(relaxed, [&] { return cudaEventQuery(c.outside.get()); }) == fine);
}

TEST_CASE("gpu truth: waiting for all of the device is not allowed in any capture") {
  capture_case c;
  for (auto mode : {global, local, relaxed}) {
    CAPTURE(mode);
    CHECK(c.of(mode, [] { return cudaDeviceSynchronize(); }) == unsupported);
  }
}

TEST_CASE("gpu truth: a global capture forbids other threads too, a local one does not") {
  capture_case c;
  auto const elsewhere = [](std::function<cudaError_t()> const& call) {
    return [call] {
      cudaError_t error = cudaSuccess;
      std::thread([&] { error = call(); }).join();
      return error;
    };
  };
  CHECK(c.of(global, elsewhere(allocate_and_free)) == unsupported);
  CHECK(c.of(local, elsewhere(allocate_and_free)) == fine);
  CHECK(c.of(local, elsewhere([&] { return cudaEventQuery(c.outside.get()); })) == fine);
}

TEST_CASE("gpu truth: a capture waits for nothing outside of it") {
  capture_case c;
  constexpr answers isolated{cudaErrorStreamCaptureIsolation, cudaErrorStreamCaptureInvalidated};
  CHECK(c.of(local, [&] { return cudaStreamWaitEvent(c.origin.get(), c.outside.get()); }) == isolated);
}

TEST_CASE("gpu truth: in a capture, too, waiting for an event that was never recorded is no wait") {
  capture_case c;
  auto const never = cuda::event::make();
  CHECK(c.of(local, [&] { return cudaStreamWaitEvent(c.origin.get(), never.get()); }) == fine);
}

TEST_CASE("gpu truth: streams that joined a capture must come back to its origin") {
  capture_case c;
  auto const back = cuda::event::make();
  auto const fork = [&] {
    ASHLAR_CUDA(cudaStreamWaitEvent, c.other.get(), c.inside.get(), 0U);
    add(c.x.data(), 1, c.x.count(), c.other.get());
    return cudaSuccess;
  };
  CHECK(c.of(local, fork) == answers{cudaSuccess, cudaErrorStreamCaptureUnjoined});
  CHECK(c.of(local, [&] {
    static_cast<void>(fork());
    ASHLAR_CUDA(cudaEventRecord, back.get(), c.other.get());
    return cudaStreamWaitEvent(c.origin.get(), back.get());
  }) == fine);
  CHECK(c.of(local, [&] { return cudaStreamWaitEvent(c.other.get(), c.inside.get()); })
        == fine);                                              // gave nothing
  CHECK(cudaStreamSynchronize(c.other.get()) == cudaSuccess);  // it captures no longer
}

TEST_CASE("gpu truth: a stream that joined captures") {
  capture_case c;
  auto const back = cuda::event::make();
  auto const join_and_query = [&] {
    ASHLAR_CUDA(cudaStreamWaitEvent, c.other.get(), c.inside.get(), 0U);
    cudaStreamCaptureStatus status{};
    ASHLAR_CUDA(cudaStreamIsCapturing, c.other.get(), &status);
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaError_t const error = cudaStreamQuery(c.other.get());
    ASHLAR_CUDA(cudaStreamIsCapturing, c.origin.get(), &status);
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    return error;
  };
  CHECK(c.of(local, join_and_query) == unsupported);
}

TEST_CASE("gpu truth: captures neither merge nor nest, and end where they began") {
  capture_case c;
  auto const another = cuda::stream::make();
  constexpr auto invalidated = cudaErrorStreamCaptureInvalidated;
  auto const merge = [&] {
    ASHLAR_CUDA(cudaStreamBeginCapture, another.get(), local);
    return cudaStreamWaitEvent(another.get(), c.inside.get());
  };
  CHECK(c.of(local, merge) == answers{cudaErrorStreamCaptureMerge, invalidated});
  cudaGraph_t g = nullptr;
  CHECK(cudaStreamEndCapture(another.get(), &g) == invalidated);
  CHECK(c.of(local, [&] { return cudaStreamBeginCapture(c.origin.get(), local); })
        == answers{cudaErrorIllegalState, cudaSuccess});
  auto const end_of_other = [&] {
    ASHLAR_CUDA(cudaStreamWaitEvent, c.other.get(), c.inside.get(), 0U);
    return cudaStreamEndCapture(c.other.get(), &g);
  };
  CHECK(c.of(local, end_of_other) == answers{cudaErrorStreamCaptureUnmatched, invalidated});
  auto const end_elsewhere = [&] {
    cudaError_t error = cudaSuccess;
    std::thread([&] { error = cudaStreamEndCapture(c.origin.get(), &g); }).join();
    return error;
  };
  CHECK(c.of(local, end_elsewhere) == answers{cudaErrorStreamCaptureWrongThread, cudaErrorIllegalState});
  CHECK(cudaStreamEndCapture(c.origin.get(), &g) == cudaErrorIllegalState);
  CHECK(cudaStreamBeginCapture(nullptr, local) == cudaErrorStreamCaptureUnsupported);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("gpu truth: an invalid capture takes nothing more until it is ended") {
  capture_case c;
  auto const twice = [&] {
    static_cast<void>(cudaStreamQuery(c.origin.get()));
    return cudaMemsetAsync(c.x.data(), 0, 8, c.origin.get());
  };
  CHECK(c.of(local, twice)
        == answers{cudaErrorStreamCaptureInvalidated, cudaErrorStreamCaptureInvalidated});
  CHECK(c.of(local, [] { return cudaSuccess; }) == fine);
}

TEST_CASE("gpu truth: the legacy stream does not come to depend on a stream that captures") {
  capture_case c;
  CHECK(c.of(local, [&] { return cudaMemsetAsync(c.x.data(), 0, 8, nullptr); }) == fine);
  cudaStream_t blocking = nullptr;
  ASHLAR_CUDA(cudaStreamCreate, &blocking);
  cuda::stream const owned(blocking);
  ASHLAR_CUDA(cudaStreamBeginCapture, blocking, local);
  CHECK(cudaMemsetAsync(c.x.data(), 0, 8, nullptr) == cudaErrorStreamCaptureImplicit);
  cudaGraph_t g = nullptr;
  CHECK(cudaStreamEndCapture(blocking, &g) == cudaErrorStreamCaptureInvalidated);
  static_cast<void>(cudaGetLastError());
}

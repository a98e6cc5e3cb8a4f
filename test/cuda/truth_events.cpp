// Streams and events: true of GPUs and of their substitute.
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

std::vector<float> all_equal(std::size_t n, float x) { return std::vector<float>(n, x); }

void until_done(cudaEvent_t event) {
  while (cudaEventQuery(event) == cudaErrorNotReady) std::this_thread::yield();
  static_cast<void>(cudaGetLastError());
}

}  // namespace

TEST_CASE("gpu truth: an event that was never recorded is done, and waiting for it is no wait") {
  auto const s = cuda::stream::make();
  auto const e = cuda::event::make();
  CHECK(cudaEventQuery(e.get()) == cudaSuccess);
  CHECK(cudaEventSynchronize(e.get()) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(s.get(), e.get()) == cudaSuccess);
  CHECK(cudaStreamSynchronize(s.get()) == cudaSuccess);
}

TEST_CASE("gpu truth: a stream does what it was given in order, and says when it is done") {
  auto const s = cuda::stream::make();
  auto const e = cuda::event::make();
  numbers x(100);
  gate g;
  g.close(s.get());
  append_bit(x.data(), 1, x.count(), s.get());
  append_bit(x.data(), 0, x.count(), s.get());
  append_bit(x.data(), 1, x.count(), s.get());
  CHECK(cudaEventRecord(e.get(), s.get()) == cudaSuccess);
  CHECK(cudaStreamQuery(s.get()) == cudaErrorNotReady);
  CHECK(cudaEventQuery(e.get()) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaSuccess);  // that it is not ready is no error
  g.open();
  CHECK(cudaEventSynchronize(e.get()) == cudaSuccess);
  CHECK(cudaStreamQuery(s.get()) == cudaSuccess);
  CHECK(x.on_host() == all_equal(100, 5));
}

TEST_CASE("gpu truth: a wait is for the last record before it, whatever is recorded later") {
  auto const slow = cuda::stream::make(), fast = cuda::stream::make(), waits = cuda::stream::make();
  auto const e = cuda::event::make(), done = cuda::event::make();
  gate g;
  g.close(slow.get());
  ASHLAR_CUDA(cudaEventRecord, e.get(), slow.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, waits.get(), e.get(), 0U);
  ASHLAR_CUDA(cudaEventRecord, e.get(), fast.get());
  ASHLAR_CUDA(cudaEventRecord, done.get(), waits.get());
  ASHLAR_CUDA(cudaEventSynchronize, e.get());  // the later record
  CHECK(cudaEventQuery(done.get()) == cudaErrorNotReady);
  g.open();
  CHECK(cudaEventSynchronize(done.get()) == cudaSuccess);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("gpu truth: a wait is not for records before the last") {
  auto const slow = cuda::stream::make(), fast = cuda::stream::make(), waits = cuda::stream::make();
  auto const e = cuda::event::make(), done = cuda::event::make();
  gate g;
  g.close(slow.get());
  ASHLAR_CUDA(cudaEventRecord, e.get(), slow.get());
  ASHLAR_CUDA(cudaEventRecord, e.get(), fast.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, waits.get(), e.get(), 0U);
  ASHLAR_CUDA(cudaEventRecord, done.get(), waits.get());
  until_done(done.get());  // although the gate is closed
  CHECK(cudaStreamQuery(slow.get()) == cudaErrorNotReady);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("gpu truth: what waits for an event comes after what was before it") {
  auto const first = cuda::stream::make(), second = cuda::stream::make();
  auto const e = cuda::event::make(), back = cuda::event::make();
  numbers x(1000);
  for (int round_trip = 0; round_trip < 20; ++round_trip) {
    append_bit(x.data(), 1, x.count(), first.get());
    ASHLAR_CUDA(cudaEventRecord, e.get(), first.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, second.get(), e.get(), 0U);
    add(x.data(), -1, x.count(), second.get());
    ASHLAR_CUDA(cudaEventRecord, back.get(), second.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, first.get(), back.get(), 0U);
  }
  add(x.data(), 7, x.count(), first.get());
  CHECK(cudaStreamSynchronize(first.get()) == cudaSuccess);
  CHECK(x.on_host() == all_equal(1000, 7));
}

TEST_CASE("gpu truth: the time between events is of those that were recorded, timed and are done") {
  auto const s = cuda::stream::make();
  auto const begin = cuda::event::make(cuda::timing::on), end = cuda::event::make(cuda::timing::on);
  auto const untimed = cuda::event::make();
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()) == cudaErrorInvalidResourceHandle);
  ASHLAR_CUDA(cudaEventRecord, begin.get(), s.get());
  gate g;
  g.close(s.get());
  ASHLAR_CUDA(cudaEventRecord, end.get(), s.get());
  ASHLAR_CUDA(cudaEventRecord, untimed.get(), s.get());
  CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()) == cudaErrorNotReady);
  g.open();
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(cudaEventElapsedTime(&ms, begin.get(), untimed.get()) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()) == cudaSuccess);
  CHECK(ms >= 0);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("gpu truth: a host function runs at its place in the stream") {
  auto const s = cuda::stream::make();
  cuda::pinned_memory const seen(sizeof(float));
  auto* const value = reinterpret_cast<float*>(seen.data());
  numbers x(1);
  struct observation {
    float* from;
    float found;
  } o{value, -1};
  add(x.data(), 3, 1, s.get());
  ASHLAR_CUDA(cudaMemcpyAsync, value, x.data(), sizeof(float), cudaMemcpyDeviceToHost, s.get());
  ASHLAR_CUDA(
      cudaLaunchHostFunc, s.get(),
      [](void* p) {
        auto* const at = static_cast<observation*>(p);
        at->found = *at->from;
        *at->from = 5;
      },
      &o);
  ASHLAR_CUDA(cudaMemcpyAsync, x.data(), value, sizeof(float), cudaMemcpyHostToDevice, s.get());
  add(x.data(), 1, 1, s.get());
  CHECK(cudaStreamSynchronize(s.get()) == cudaSuccess);
  CHECK(o.found == 3);
  CHECK(x.on_host() == all_equal(1, 6));
}

TEST_CASE("gpu truth: a stream that is destroyed does what it was given") {
  numbers x(10);
  auto const e = cuda::event::make();
  {
    auto const s = cuda::stream::make();
    gate g;
    g.close(s.get());
    add(x.data(), 2, x.count(), s.get());
    ASHLAR_CUDA(cudaEventRecord, e.get(), s.get());
    g.open();
  }
  CHECK(cudaEventSynchronize(e.get()) == cudaSuccess);
  CHECK(x.on_host() == all_equal(10, 2));
}

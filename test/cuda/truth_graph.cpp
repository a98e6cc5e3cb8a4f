// Graphs made by capture, and their launches: true of GPUs and of their substitute.
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

cuda::graph captured(cudaStream_t s, std::function<void()> const& work) {
  ASHLAR_CUDA(cudaStreamBeginCapture, s, cudaStreamCaptureModeThreadLocal);
  work();
  cudaGraph_t g = nullptr;
  ASHLAR_CUDA(cudaStreamEndCapture, s, &g);
  return cuda::graph(g);
}

cuda::executable_graph instantiated(cuda::graph const& g) {
  cudaGraphExec_t e = nullptr;
  ASHLAR_CUDA(cudaGraphInstantiate, &e, g.get(), 0ULL);
  return cuda::executable_graph(e);
}

std::size_t nodes_of(cuda::graph const& g) {
  std::size_t n = 0;
  ASHLAR_CUDA(cudaGraphGetNodes, g.get(), nullptr, &n);
  return n;
}

std::vector<float> same(std::size_t n, float x) { return std::vector<float>(n, x); }

}  // namespace

TEST_CASE("gpu truth: what is captured is not done, until the graph is launched, each time") {
  auto const s = cuda::stream::make();
  numbers x(100);
  float what = 3;
  auto const g = captured(s.get(), [&] { add(x.data(), what, x.count(), s.get()); });
  what = 1000;  // it was taken by value
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(x.on_host() == same(100, 0));
  auto const e = instantiated(g);
  for (int i = 0; i < 3; ++i) ASHLAR_CUDA(cudaGraphLaunch, e.get(), s.get());
  append_bit(x.data(), 1, x.count(), s.get());  // comes after the launches
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(x.on_host() == same(100, 19));
}

TEST_CASE("gpu truth: records and waits are no nodes") {
  auto const s = cuda::stream::make(), t = cuda::stream::make();
  auto const fork = cuda::event::make(), back = cuda::event::make();
  numbers x(10), y(10);
  auto const g = captured(s.get(), [&] {
    ASHLAR_CUDA(cudaEventRecord, fork.get(), s.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), fork.get(), 0U);
    add(x.data(), 1, x.count(), s.get());
    ASHLAR_CUDA(cudaMemsetAsync, y.data(), 0, 8UL, t.get());
    ASHLAR_CUDA(cudaEventRecord, back.get(), t.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), back.get(), 0U);
    ASHLAR_CUDA(cudaMemcpyAsync, y.data(), x.data(), 8UL, cudaMemcpyDeviceToDevice, s.get());
    ASHLAR_CUDA(
        cudaLaunchHostFunc, s.get(), [](void*) {}, nullptr);
  });
  CHECK(nodes_of(g) == 4);
  CHECK(nodes_of(captured(s.get(), [] {})) == 0);
}

TEST_CASE("gpu truth: a launch keeps the order of the streams and events that it was captured from") {
  auto const s = cuda::stream::make(), t = cuda::stream::make();
  auto const there = cuda::event::make(), back = cuda::event::make();
  numbers x(1000), y(1000);
  auto const g = captured(s.get(), [&] {
    for (int i = 0; i < 5; ++i) {
      append_bit(x.data(), 1, x.count(), s.get());
      ASHLAR_CUDA(cudaEventRecord, there.get(), s.get());  // the same event, again and again
      ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), there.get(), 0U);
      add(y.data(), 1, y.count(), s.get());  // beside the next
      add(x.data(), -1, x.count(), t.get());
      ASHLAR_CUDA(cudaEventRecord, back.get(), t.get());
      ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), back.get(), 0U);
    }
    add(x.data(), 1, x.count(), s.get());
  });
  auto const e = instantiated(g);
  float expected = 0;
  for (int launch = 0; launch < 4; ++launch) {
    ASHLAR_CUDA(cudaGraphLaunch, e.get(), s.get());
    for (int i = 0; i < 5; ++i) expected = 2 * expected;
    expected += 1;
  }
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(x.on_host() == same(1000, expected));
  CHECK(y.on_host() == same(1000, 20));
}

TEST_CASE("gpu truth: launches come after what their stream was given, and after each other") {
  auto const s = cuda::stream::make(), t = cuda::stream::make();
  numbers x(10);
  auto const e = instantiated(captured(s.get(), [&] { append_bit(x.data(), 1, x.count(), s.get()); }));
  auto const first_done = cuda::event::make(), done = cuda::event::make();
  gate g;
  g.close(s.get());
  add(x.data(), 4, x.count(), s.get());
  ASHLAR_CUDA(cudaGraphLaunch, e.get(), s.get());
  ASHLAR_CUDA(cudaGraphLaunch, e.get(), t.get());  // waits for the launch in s
  ASHLAR_CUDA(cudaEventRecord, done.get(), t.get());
  CHECK(cudaEventQuery(done.get()) == cudaErrorNotReady);
  g.open();
  ASHLAR_CUDA(cudaEventSynchronize, done.get());
  CHECK(x.on_host() == same(10, 19));
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("gpu truth: an executable graph outlives its graph, the captured streams and events") {
  auto const s = cuda::stream::make();
  numbers x(10);
  cuda::executable_graph e;
  {
    auto const origin = cuda::stream::make(), t = cuda::stream::make();
    auto const there = cuda::event::make(), back = cuda::event::make();
    e = instantiated(captured(origin.get(), [&] {
      add(x.data(), 1, x.count(), origin.get());
      ASHLAR_CUDA(cudaEventRecord, there.get(), origin.get());
      ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), there.get(), 0U);
      append_bit(x.data(), 1, x.count(), t.get());
      ASHLAR_CUDA(cudaEventRecord, back.get(), t.get());
      ASHLAR_CUDA(cudaStreamWaitEvent, origin.get(), back.get(), 0U);
    }));
  }
  ASHLAR_CUDA(cudaGraphLaunch, e.get(), s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(x.on_host() == same(10, 3));
}

TEST_CASE("gpu truth: host functions and copies of a graph happen at every launch") {
  auto const s = cuda::stream::make();
  cuda::pinned_memory const memory(sizeof(float));
  auto* const value = reinterpret_cast<float*>(memory.data());
  numbers x(1);
  *value = 10;
  auto const e = instantiated(captured(s.get(), [&] {
    ASHLAR_CUDA(cudaMemcpyAsync, x.data(), value, sizeof(float), cudaMemcpyHostToDevice, s.get());
    add(x.data(), 1, 1, s.get());
    ASHLAR_CUDA(cudaMemcpyAsync, value, x.data(), sizeof(float), cudaMemcpyDeviceToHost, s.get());
    ASHLAR_CUDA(
        cudaLaunchHostFunc, s.get(), [](void* p) { *static_cast<float*>(p) *= 2; }, value);
  }));
  for (float const expected : {22.0F, 46.0F, 94.0F}) {
    ASHLAR_CUDA(cudaGraphLaunch, e.get(), s.get());
    ASHLAR_CUDA(cudaStreamSynchronize, s.get());
    CHECK(*value == expected);
  }
}

TEST_CASE("gpu truth: an event can be recorded by a node of the graph") {
  auto const s = cuda::stream::make();
  auto const begin = cuda::event::make(cuda::timing::on), end = cuda::event::make(cuda::timing::on);
  numbers x(1);
  auto const g = captured(s.get(), [&] {
    ASHLAR_CUDA(cudaEventRecordWithFlags, begin.get(), s.get(), cudaEventRecordExternal);
    add(x.data(), 1, 1, s.get());
    ASHLAR_CUDA(cudaEventRecordWithFlags, end.get(), s.get(), cudaEventRecordExternal);
  });
  CHECK(nodes_of(g) == 3);
  auto const e = instantiated(g);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()) == cudaErrorInvalidResourceHandle);  // not yet
  for (int launch = 0; launch < 2; ++launch) {
    ASHLAR_CUDA(cudaGraphLaunch, e.get(), s.get());
    CHECK(cudaEventSynchronize(end.get()) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()) == cudaSuccess);
    CHECK(ms >= 0);
  }
  static_cast<void>(cudaGetLastError());
}

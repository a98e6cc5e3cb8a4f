// Shows what orders operations of the substitute, and that seeds reveal what nothing orders.
#include "substituted.hpp"
#include "truth.hpp"
#include "truth_kernels.hpp"

#include <doctest/doctest.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

using namespace ashlar;
using namespace ashlar::cuda_test;

namespace {

// Appends without a race that a thread sanitizer would see first.
void append(std::atomic<int>& to, int bit) {
  to.store(2 * to.load(std::memory_order_relaxed) + bit, std::memory_order_relaxed);
}
void append(std::atomic<int>& to, int bit, cudaStream_t s) {
  CHECK(cuda_substitute::enqueue(s, "append", [&to, bit] { append(to, bit); }) == cudaSuccess);
}

// The result of two streams that change one number; ordered by an event, or by nothing.
int of_two_streams(std::uint64_t seed, bool ordered) {
  substituted const machine({.seed = seed, .delay = 300});
  auto const s = cuda::stream::make(), t = cuda::stream::make();
  auto const e = cuda::event::make();
  std::atomic<int> x = 0;
  append(x, 1, s.get());
  if (ordered) {
    ASHLAR_CUDA(cudaEventRecord, e.get(), s.get());
    ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), e.get(), 0U);
  }
  append(x, 0, t.get());
  ASHLAR_CUDA(cudaDeviceSynchronize);
  return x;
}

// The result of the same streams as a graph.
int of_two_streams_of_a_graph(std::uint64_t seed, bool ordered) {
  substituted const machine({.seed = seed, .delay = 300});
  auto const s = cuda::stream::make(), t = cuda::stream::make();
  auto const begin = cuda::event::make(), e = cuda::event::make(), end = cuda::event::make();
  std::atomic<int> x = 0;
  ASHLAR_CUDA(cudaStreamBeginCapture, s.get(), cudaStreamCaptureModeThreadLocal);
  ASHLAR_CUDA(cudaEventRecord, begin.get(), s.get());
  append(x, 1, s.get());
  ASHLAR_CUDA(cudaEventRecord, e.get(), s.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), ordered ? e.get() : begin.get(), 0U);
  append(x, 0, t.get());
  ASHLAR_CUDA(cudaEventRecord, end.get(), t.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), end.get(), 0U);
  cudaGraph_t g = nullptr;
  ASHLAR_CUDA(cudaStreamEndCapture, s.get(), &g);
  cuda::graph const owned(g);
  cudaGraphExec_t executable = nullptr;
  ASHLAR_CUDA(cudaGraphInstantiate, &executable, g, 0ULL);
  cuda::executable_graph const also_owned(executable);
  ASHLAR_CUDA(cudaGraphLaunch, executable, s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  return x;
}

// A meeting of two operations: each waits for the other.
class meeting {
 public:
  void come() {
    std::unique_lock lock(mutex_);
    ++here_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return here_ >= 2; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
};

}  // namespace

TEST_CASE("cuda substitute: a missing wait shows, some seeds give other results") {
  std::set<int> found, found_of_graphs;
  for (std::uint64_t seed = 0; seed < 200 && (found.size() < 2 || found_of_graphs.size() < 2); ++seed) {
    found.insert(of_two_streams(seed, false));
    found_of_graphs.insert(of_two_streams_of_a_graph(seed, false));
    CHECK(of_two_streams(seed, true) == 2);
    CHECK(of_two_streams_of_a_graph(seed, true) == 2);
  }
  CHECK(found == std::set<int>{1, 2});
  CHECK(found_of_graphs == std::set<int>{1, 2});
}

TEST_CASE("cuda substitute: operations of two streams can wait for each other, eager and replayed") {
  substituted const machine({.devices = 2});
  auto const s = cuda::stream::make();
  auto const begin = cuda::event::make();
  cuda::on_gpu const other(1);
  auto const t = cuda::stream::make();
  auto const end = cuda::event::make();
  auto const meet = [&] {
    auto const m = std::make_shared<meeting>();
    CHECK(cuda_substitute::enqueue(s.get(), "a send", [m] { m->come(); }) == cudaSuccess);
    CHECK(cuda_substitute::enqueue(t.get(), "a receive", [m] { m->come(); }) == cudaSuccess);
  };
  meet();
  CHECK(cudaStreamSynchronize(s.get()) == cudaSuccess);
  CHECK(cudaStreamSynchronize(t.get()) == cudaSuccess);
  ASHLAR_CUDA(cudaStreamBeginCapture, s.get(), cudaStreamCaptureModeThreadLocal);
  ASHLAR_CUDA(cudaSetDevice, 0);
  ASHLAR_CUDA(cudaEventRecord, begin.get(), s.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, t.get(), begin.get(), 0U);
  meet();
  ASHLAR_CUDA(cudaEventRecord, end.get(), t.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), end.get(), 0U);
  cudaGraph_t g = nullptr;
  ASHLAR_CUDA(cudaStreamEndCapture, s.get(), &g);
  cuda::graph const owned(g);
  cudaGraphExec_t executable = nullptr;
  ASHLAR_CUDA(cudaGraphInstantiate, &executable, g, 0ULL);
  cuda::executable_graph const also_owned(executable);
  for (int launch = 0; launch < 3; ++launch) ASHLAR_CUDA(cudaGraphLaunch, executable, s.get());
  CHECK(cudaStreamSynchronize(s.get()) == cudaSuccess);
}

TEST_CASE("cuda substitute: the legacy stream and blocking streams wait for each other, others do not") {
  substituted const machine;
  cudaStream_t blocking = nullptr;
  ASHLAR_CUDA(cudaStreamCreate, &blocking);
  cuda::stream const owned(blocking);
  auto const free = cuda::stream::make();
  numbers const x(1);
  gate g;
  g.close(blocking);
  append_bit(x.data(), 1, 1, blocking);
  append_bit(x.data(), 0, 1, nullptr);
  append_bit(x.data(), 1, 1, blocking);
  CHECK(cudaStreamQuery(nullptr) == cudaErrorNotReady);
  CHECK(cudaMemsetAsync(x.data(), 0, 4, free.get()) == cudaSuccess);
  CHECK(cudaStreamSynchronize(free.get()) == cudaSuccess);  // although the gate is closed
  g.open();
  CHECK(cudaStreamSynchronize(blocking) == cudaSuccess);
  CHECK(x.on_host().front() == 5);
}

TEST_CASE("cuda substitute: operations are counted, records and waits are none") {
  substituted const machine;
  auto const s = cuda::stream::make();
  auto const e = cuda::event::make();
  numbers const x(1);
  std::size_t const before = cuda_substitute::operation_count();
  add(x.data(), 1, 1, s.get());
  ASHLAR_CUDA(cudaEventRecord, e.get(), s.get());
  ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), e.get(), 0U);
  ASHLAR_CUDA(cudaMemsetAsync, x.data(), 0, 4UL, s.get());
  ASHLAR_CUDA(cudaStreamSynchronize, s.get());
  CHECK(cuda_substitute::operation_count() == before + 2);
}

TEST_CASE("cuda substitute: ranges are kept and nest") {
  substituted const machine;
  CHECK(nvtxRangePushA("outer") == 0);
  CHECK(nvtxRangePushA("inner") == 1);
  CHECK(cuda_substitute::open_ranges() == 2);
  CHECK(nvtxRangePop() == 1);
  CHECK(nvtxRangePop() == 0);
  CHECK(cuda_substitute::ranges() == std::vector<std::string>{"outer", "inner"});
}

// A device of a program on a GPU: one stream per lane, and an event for each instruction that another
// waits for.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/queue.hpp>
#include <ashlar/cuda/transport.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/device_plan.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

namespace ashlar::cuda {

// Driven in an issue order by one thread: nothing is waited for on the host, and an event is recorded
// before anybody waits for it. Transfers and collectives start when the transport's meet() is called.
class device {
 public:
  // An issue order needs no more, and every program with independent lanes has one.
  static constexpr progress_level needs = progress_level::independent_lanes;
  using queue = cuda::queue;
  using event = cuda::event;

  // The device with this number among those of all ranks, on GPU `gpu`.
  device(device_plan const& plan, int number, int of_program, int gpu, transport& between)
      : number_(number), gpu_(gpu), transport_(&between) {
    on_gpu const here(gpu);
    queues_.reserve(static_cast<std::size_t>(plan.lane_count()));
    for (int lane = 0; lane < plan.lane_count(); ++lane) {
      queues_.push_back({nullptr, gpu, of_program, nullptr});
      if (plan.lane(lane).empty()) continue;  // nothing waits on it, and it waits for nothing
      streams_.push_back(stream::make());
      marks_.push_back(event::make());
      queues_.back().stream = streams_.back().get();
      queues_.back().mark = marks_.back().get();
    }
    for (int e = 0; e < plan.events().count(); ++e) events_.push_back(event::make());
  }

  int number() const { return number_; }
  int gpu() const { return gpu_; }
  std::vector<stream> const& streams() const { return streams_; }

  queue& queue_of(int lane) { return nth(queues_, lane); }
  event& event_of(int number) { return nth(events_, number); }
  void record(queue& q, event& e) { ASHLAR_CUDA(cudaEventRecord, e.get(), q.stream); }
  void wait(queue& q, event& e) { ASHLAR_CUDA(cudaStreamWaitEvent, q.stream, e.get(), 0); }
  bool query(event& e) {
    cudaError_t const code = cudaEventQuery(e.get());
    if (code != cudaErrorNotReady) require(code, "cudaEventQuery");
    return code == cudaSuccess;
  }

  void send(queue& q, transfer_call const& t) { post(opcode::send, q, t, {}); }
  void receive(queue& q, transfer_call const& t) { post(opcode::receive, q, t, {}); }
  void clear(queue& q, buffer bytes) {
    if (!bytes.empty()) ASHLAR_CUDA(cudaMemsetAsync, bytes.data(), 0, bytes.size(), q.stream);
  }
  // The host's memory is pinned, so that copies run during the work of other streams.
  void offload(queue& q, copy_call const& c) { copy(q, c.on_host, c.on_device, cudaMemcpyDeviceToHost); }
  void reload(queue& q, copy_call const& c) { copy(q, c.on_device, c.on_host, cudaMemcpyHostToDevice); }
  void all_reduce(queue& q, collective_call const& c) { post(opcode::all_reduce, q, {}, c); }
  void all_gather(queue& q, collective_call const& c) { post(opcode::all_gather, q, {}, c); }
  void reduce_scatter(queue& q, collective_call const& c) { post(opcode::reduce_scatter, q, {}, c); }

  // Streams that may never end are not given back, nor is anything that they use.
  void leave() {
    for (stream& s : streams_) static_cast<void>(s.release());
    for (event& e : events_) static_cast<void>(e.release());
    for (event& e : marks_) static_cast<void>(e.release());
  }

 private:
  void post(opcode code, queue& q, transfer_call const& t, collective_call const& c) {
    transport_->post({code, number_, &q, t, c});
  }
  static void copy(queue& q, buffer to, buffer from, cudaMemcpyKind way) {
    if (!to.empty()) ASHLAR_CUDA(cudaMemcpyAsync, to.data(), from.data(), to.size(), way, q.stream);
  }

  int number_, gpu_;
  transport* transport_;
  std::vector<stream> streams_;
  std::vector<event> marks_;
  std::vector<queue> queues_;  // by lane
  std::vector<event> events_;
};
static_assert(collective_backend<device> && offloading_backend<device>);

}  // namespace ashlar::cuda

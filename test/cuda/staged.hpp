// A worker of the host behind a GPU: what its verbs read is copied to the host, they run there when
// their stream comes to them, and what they write is copied back. So the conformance kit's networks, and
// their bits, check where and when a backend computes.
#pragma once

#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/queue.hpp>
#include <ashlar/run/contract.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace ashlar::cuda_test {

// Memory that a GPU copies from and to, given out piece by piece: none is allocated while a step is
// captured.
class pinned_pool {
 public:
  std::byte* take(std::size_t bytes) {
    if (blocks_.empty() || used_ + bytes > blocks_.back().size()) {
      blocks_.emplace_back(std::max(bytes, block));
      used_ = 0;
    }
    std::byte* const at = blocks_.back().data() + used_;
    used_ += (bytes + 63) / 64 * 64;
    return at;
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 22;
  std::vector<cuda::pinned_memory> blocks_;
  std::size_t used_ = 0;
};

// Slots of a frame on the host, each at its own place.
class mirror {
 public:
  enum class use : unsigned char { read, written, both };

  buffer of(buffer on_device, use u) {
    if (on_device.empty()) return {};
    std::size_t const at = (size_ + 63) / 64 * 64;
    slots_.push_back({on_device, at, u});
    size_ = at + on_device.size();
    return {reinterpret_cast<std::byte*>(at), on_device.size()};  // until there is memory
  }
  void allocate(pinned_pool& pool) { memory_ = pool.take(size_); }
  buffer placed(buffer b) const {
    return b.empty() ? b : buffer{memory_ + reinterpret_cast<std::size_t>(b.data()), b.size()};
  }
  void to_host(cudaStream_t on) const {
    for (slot const& s : slots_)
      if (s.how != use::written)
        ASHLAR_CUDA(cudaMemcpyAsync, memory_ + s.at, s.bytes.data(), s.bytes.size(),
                    cudaMemcpyDeviceToHost, on);
  }
  void to_device(cudaStream_t on) const {
    for (slot const& s : slots_)
      if (s.how != use::read)
        ASHLAR_CUDA(cudaMemcpyAsync, s.bytes.data(), memory_ + s.at, s.bytes.size(),
                    cudaMemcpyHostToDevice, on);
  }

 private:
  struct slot {
    buffer bytes;
    std::size_t at;
    use how;
  };
  std::vector<slot> slots_;
  std::size_t size_ = 0;
  std::byte* memory_ = nullptr;
};

// Keeps all that was enqueued as long as it lives: a graph comes back to it.
template <class W>
class staged {
 public:
  explicit staged(W& of) : of_(&of) {}
  staged(staged const&) = delete;
  staged& operator=(staged const&) = delete;

  value_layout layout(value_key key) const { return of_->layout(key); }

  void forward(cuda::queue& q, frame const& f) {
    pass(q, f, [](W& w, cuda::queue& on, frame const& g) { w.forward(on, g); });
  }
  void recompute(cuda::queue& q, frame const& f) {
    pass(q, f, [](W& w, cuda::queue& on, frame const& g) { w.recompute(on, g); });
  }
  void backward(cuda::queue& q, frame const& f) {
    pass(q, f, [](W& w, cuda::queue& on, frame const& g) { w.backward(on, g); });
  }
  void backward_input(cuda::queue& q, frame const& f) {
    pass(q, f, [](W& w, cuda::queue& on, frame const& g) { w.backward_input(on, g); });
  }
  void backward_weight(cuda::queue& q, frame const& f) {
    pass(q, f, [](W& w, cuda::queue& on, frame const& g) { w.backward_weight(on, g); });
  }
  void work(cuda::queue& q, frame const& f) {
    pass(q, f, [](W& w, cuda::queue& on, frame const& g) { w.work(on, g); });
  }
  void reduced(cuda::queue& q, parameter_frame const& f) {
    parameters(q, f, [](W& w, cuda::queue& on, parameter_frame const& g) { w.reduced(on, g); });
  }

 protected:
  struct job {
    staged* of;
    mirror slots;
    std::vector<port> ports;
    std::vector<work_port> work_ports;
    std::function<void(W&)> act;
  };

  W& worker() { return *of_; }
  job& next_job() {
    jobs_.emplace_back();
    jobs_.back().of = this;
    return jobs_.back();
  }
  void start(cuda::queue& q, job& j) {
    j.slots.to_host(q.stream);
    ASHLAR_CUDA(cudaLaunchHostFunc, q.stream, run, &j);
    j.slots.to_device(q.stream);
  }

  pinned_pool pool_;

  template <class Act>
  void parameters(cuda::queue& q, parameter_frame const& f, Act act,
                  mirror::use scalar = mirror::use::read) {
    job& j = next_job();
    parameter_frame g = f;
    g.gradient = j.slots.of(f.gradient, mirror::use::read);
    g.scalar = j.slots.of(f.scalar, scalar);
    for (port const& p : f.gradients)
      j.ports.push_back({j.slots.of(p.bytes, mirror::use::read), p.stage, p.element});
    j.slots.allocate(pool_);
    g.gradient = j.slots.placed(g.gradient);
    g.scalar = j.slots.placed(g.scalar);
    for (port& p : j.ports) p.bytes = j.slots.placed(p.bytes);
    g.gradients = j.ports;
    j.act = [g, act, on = q](W& w) mutable { act(w, on, g); };
    start(q, j);
  }

 private:
  static void run(void* of) {
    job& j = *static_cast<job*>(of);
    std::lock_guard const lock(j.of->mutex_);
    j.act(*j.of->of_);
  }

  template <class Act>
  void pass(cuda::queue& q, frame const& f, Act act) {
    using use = mirror::use;
    job& j = next_job();
    frame g = f;
    bool const starts = f.what.kind == pass_kind::forward,
               fills = starts || f.what.kind == pass_kind::recompute;
    std::pair<buffer*, use> const single[] = {{&g.checkpoint, starts ? use::written : use::read},
                                              {&g.stash, fills ? use::written : use::read},
                                              {&g.weight_stash, use::both},
                                              {&g.weight_gradient, use::both},
                                              {&g.weight, use::read},
                                              {&g.work_output, use::written},
                                              {&g.work_state, use::both},
                                              {&g.micro_gradient, use::both},
                                              {&g.sequence_input, use::read},
                                              {&g.sequence_output, use::written}};
    for (auto const& [b, how] : single) *b = j.slots.of(*b, how);
    auto const add = [&](std::span<port const> all, use how) {
      for (port const& p : all)
        j.ports.push_back({j.slots.of(p.bytes, how), p.stage, p.element, p.micro_batch});
    };
    add(f.inputs, use::read);
    add(f.outputs, use::written);
    add(f.shared_gradients, use::both);
    for (work_port const& p : f.work_inputs)
      j.work_ports.push_back({j.slots.of(p.bytes, use::read), p.from, p.element});
    j.slots.allocate(pool_);
    for (auto const& [b, how] : single) *b = j.slots.placed(*b);
    for (port& p : j.ports) p.bytes = j.slots.placed(p.bytes);
    for (work_port& p : j.work_ports) p.bytes = j.slots.placed(p.bytes);
    std::span<port const> const ports = j.ports;
    g.inputs = ports.first(f.inputs.size());
    g.outputs = ports.subspan(f.inputs.size(), f.outputs.size());
    g.shared_gradients = ports.subspan(f.inputs.size() + f.outputs.size());
    g.work_inputs = j.work_ports;
    j.act = [g, act, on = q](W& w) mutable { act(w, on, g); };
    start(q, j);
  }

  W* of_;
  std::mutex mutex_;
  std::deque<job> jobs_;
};

// A rank with weights in shards and an optimizer. A GPU has a copy of each shard, which a step of the
// optimizer brings up to date.
class staged_rank : public staged<conformance::sharded_network> {
 public:
  using staged::staged;

  void measure(cuda::queue& q, parameter_frame const& f) {
    parameters(
        q, f,
        [](conformance::sharded_network& w, cuda::queue& on, parameter_frame const& g) {
          w.measure(on, g);
        },
        mirror::use::written);
  }
  void optimize(cuda::queue& q, parameter_frame const& f) {
    parameters(q, f, [](conformance::sharded_network& w, cuda::queue& on, parameter_frame const& g) {
      w.optimize(on, g);
    });
    if (f.site.replica != 0) return;
    for (auto const& [where, memory] : shards_) {
      if (where.first != f.group) continue;
      job& j = next_job();
      buffer const staging = j.slots.of({memory.data(), memory.size()}, mirror::use::written);
      j.slots.allocate(pool_);
      j.act = [to = j.slots.placed(staging), holder = where](conformance::sharded_network& w) {
        std::memcpy(to.data(), w.shard(holder.first, holder.second).data(), to.size());
      };
      start(q, j);
    }
  }
  buffer shard(int group, int replica) {
    auto const [at, is_new] = shards_.try_emplace({group, replica});
    if (is_new) {
      buffer const weights = worker().shard(group, replica);
      at->second = cuda::device_memory(weights.size());
      cuda::upload(at->second.data(), weights.data(), weights.size());
    }
    return {at->second.data(), at->second.size()};
  }

 private:
  std::map<std::pair<int, int>, cuda::device_memory> shards_;
};

}  // namespace ashlar::cuda_test

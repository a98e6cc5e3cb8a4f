// Owners of CUDA's handles, which give them back.
#pragma once

#include <ashlar/cuda/error.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// Makes a GPU current for this thread, until the end of the scope.
class on_gpu {
 public:
  explicit on_gpu(int gpu) : gpu_(gpu) {
    ASHLAR_CUDA(cudaGetDevice, &before_);
    if (gpu != before_) ASHLAR_CUDA(cudaSetDevice, gpu);
  }
  on_gpu(on_gpu const&) = delete;
  on_gpu& operator=(on_gpu const&) = delete;
  ~on_gpu() {
    if (gpu_ != before_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int gpu_, before_ = 0;
};

namespace handle_detail {

// Moved, never copied; Release is called once.
template <class Handle, auto Release>
class owner {
 public:
  owner() = default;
  explicit owner(Handle h) : handle_(h) {}
  owner(owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  owner& operator=(owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  // A failure to give back was already reported by the call that failed.
  ~owner() {
    if (handle_ != Handle{}) static_cast<void>(Release(handle_));
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }
  // Releases the handle: from now on only the caller can give it back.
  Handle release() { return std::exchange(handle_, Handle{}); }

 private:
  Handle handle_{};
};

}  // namespace handle_detail

using graph = handle_detail::owner<cudaGraph_t, cudaGraphDestroy>;
using executable_graph = handle_detail::owner<cudaGraphExec_t, cudaGraphExecDestroy>;

// A stream of the current GPU. It does not wait for the default stream.
struct stream : handle_detail::owner<cudaStream_t, cudaStreamDestroy> {
  using owner::owner;
  static stream make() {
    cudaStream_t s{};
    ASHLAR_CUDA(cudaStreamCreateWithFlags, &s, cudaStreamNonBlocking);
    return stream(s);
  }
};

// Whether everything that the streams were given has ended or failed by then.
inline bool have_ended_by(std::chrono::steady_clock::time_point end, std::vector<stream> const& all) {
  for (stream const& s : all)
    while (cudaStreamQuery(s.get()) == cudaErrorNotReady) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  static_cast<void>(cudaGetLastError());
  return true;
}

enum class timing : bool { off, on };

// An event of the current GPU.
struct event : handle_detail::owner<cudaEvent_t, cudaEventDestroy> {
  using owner::owner;
  static event make(timing t = timing::off) {
    cudaEvent_t e{};
    ASHLAR_CUDA(cudaEventCreateWithFlags, &e,
                t == timing::on ? cudaEventDefault : cudaEventDisableTiming);
    return event(e);
  }
};

// Bytes on the current GPU, aligned to 256 at least; none: a null pointer.
class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::size_t bytes) : bytes_(bytes) {
    void* p = nullptr;
    if (bytes > 0) ASHLAR_CUDA(cudaMalloc, &p, bytes);
    memory_ = owner(static_cast<std::byte*>(p));
  }
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }
  // Keeps the bytes allocated: something that never ends may still use them.
  void leave() { static_cast<void>(memory_.release()); }

 private:
  using owner = handle_detail::owner<std::byte*, cudaFree>;
  owner memory_;
  std::size_t bytes_ = 0;
};

// Copies to a GPU and returns when the bytes are there. cudaMemcpy may return earlier, and streams that
// do not wait for the default one would read the old bytes.
inline void upload(void* to, void const* from, std::size_t bytes) {
  if (bytes == 0) return;
  ASHLAR_CUDA(cudaMemcpy, to, from, bytes, cudaMemcpyHostToDevice);
  ASHLAR_CUDA(cudaStreamSynchronize, nullptr);
}
// Clears in the same way.
inline void clear(void* memory, std::size_t bytes) {
  if (bytes == 0) return;
  ASHLAR_CUDA(cudaMemset, memory, 0, bytes);
  ASHLAR_CUDA(cudaStreamSynchronize, nullptr);
}

// Page-locked bytes on the host, which a GPU reads and writes without help.
class pinned_memory {
 public:
  pinned_memory() = default;
  explicit pinned_memory(std::size_t bytes) : bytes_(bytes) {
    void* p = nullptr;
    if (bytes > 0) ASHLAR_CUDA(cudaMallocHost, &p, bytes);
    memory_ = owner(static_cast<std::byte*>(p));
  }
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }
  void leave() { static_cast<void>(memory_.release()); }

 private:
  using owner = handle_detail::owner<std::byte*, cudaFreeHost>;
  owner memory_;
  std::size_t bytes_ = 0;
};

}  // namespace ashlar::cuda

// Shared parts of the tests that say what is true of GPUs and of their substitute: they use CUDA's own
// calls alone, and pass on both.
#pragma once

#include <ashlar/cuda/handles.hpp>

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace ashlar::cuda_test {

// A host function that keeps its stream waiting until the gate is opened. One at a time: a GPU may run
// all host functions on one thread.
class gate {
 public:
  gate() = default;
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;
  ~gate() { open(); }
  void close(cudaStream_t stream) {
    ASHLAR_CUDA(cudaLaunchHostFunc, stream, wait, new shared_flag(open_));
  }
  void open() {
    *open_ = true;
    open_->notify_all();
  }

 private:
  using shared_flag = std::shared_ptr<std::atomic<bool>>;  // the gate may go before the stream does
  static void wait(void* flag) {
    std::unique_ptr<shared_flag> const open(static_cast<shared_flag*>(flag));
    (*open)->wait(false);
  }
  shared_flag open_ = std::make_shared<std::atomic<bool>>(false);
};

// Numbers on the device, and their values once the stream has done all.
class numbers {
 public:
  explicit numbers(std::vector<float> const& values) : memory_(values.size() * sizeof(float)) {
    ASHLAR_CUDA(cudaMemcpy, memory_.data(), values.data(), memory_.size(), cudaMemcpyHostToDevice);
  }
  explicit numbers(std::size_t n) : numbers(std::vector<float>(n)) {}
  float* data() const { return reinterpret_cast<float*>(memory_.data()); }
  int count() const { return static_cast<int>(memory_.size() / sizeof(float)); }
  std::vector<float> on_host() const {
    std::vector<float> values(memory_.size() / sizeof(float));
    ASHLAR_CUDA(cudaMemcpy, values.data(), memory_.data(), memory_.size(), cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  cuda::device_memory memory_;
};

}  // namespace ashlar::cuda_test

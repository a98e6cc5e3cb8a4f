// How far devices have come. The host can read it while a step runs, even while a graph is replayed.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/device.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/run/device_plan.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

namespace ashlar::cuda {

// A few instructions of a device are marked. When one of them is done, a copy tells the host its
// position. An event of a replayed graph could not do that.
class progress_marks {
 public:
  static constexpr int none = -1;

  // Marks at most `most` of a plan's instructions on the lane of passes.
  progress_marks(device_plan const& plan, int gpu, int most = 16)
      : marked_(static_cast<std::size_t>(plan.size()), 0) {
    std::vector<int> const& passes = plan.lane(compute_lane);
    int const count = static_cast<int>(passes.size()), every = std::max(1, (count + most - 1) / most);
    for (int k = every - 1; k < count; k += every) nth(marked_, nth(passes, k)) = 1;
    std::vector<int> positions(static_cast<std::size_t>(plan.size()) + 1);
    std::iota(positions.begin(), positions.end(), none);
    on_gpu const here(gpu);
    positions_ = device_memory(positions.size() * sizeof(int));
    reported_ = pinned_memory(sizeof(int));
    std::memcpy(reported_.data(), positions.data(), sizeof(int));
    upload(positions_.data(), positions.data(), positions_.size());
  }

  bool is_marked(int index) const { return nth(marked_, index) != 0; }
  // Puts a mark behind everything on the queue: `index` is done, or, with `none`, a step begins.
  void report_position(cudaStream_t on, int index) {
    ASHLAR_CUDA(cudaMemcpyAsync, reported_.data(),
                positions_.data() + static_cast<std::size_t>(index + 1) * sizeof(int), sizeof(int),
                cudaMemcpyDeviceToHost, on);
  }
  // The last mark that was reported to the host.
  int last() const {
    return std::atomic_ref<int>(*reinterpret_cast<int*>(reported_.data()))
        .load(std::memory_order_relaxed);
  }
  // The instruction that the host is issuing, or `none`. Set and read by different threads.
  void issues(int index) { std::atomic_ref<int>(issued_).store(index, std::memory_order_relaxed); }
  int issued() const { return std::atomic_ref<int>(issued_).load(std::memory_order_relaxed); }
  // The first marked instruction after last(); `none` if there are no more.
  int next() const {
    for (int i = last() + 1; i < static_cast<int>(marked_.size()); ++i)
      if (is_marked(i)) return i;
    return none;
  }

  // Something that never ends may still copy from and to these.
  void leave() {
    positions_.leave();
    reported_.leave();
  }

 private:
  std::vector<char> marked_;
  mutable int issued_ = none;
  device_memory positions_;
  pinned_memory reported_;
};

}  // namespace ashlar::cuda

// When each instruction of a device ran, by events around it.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::cuda {

// If a step is captured into a graph, each event becomes a node of it.
class step_timer {
 public:
  // Makes events on the current GPU.
  explicit step_timer(std::size_t instructions) {
    for (std::size_t i = 0; i < instructions; ++i) {
      begin_.push_back(event::make(timing::on));
      end_.push_back(event::make(timing::on));
    }
  }

  // Captures steps from now on.
  void captures() { how_ = cudaEventRecordExternal; }
  // A step does.
  void starts(cudaStream_t on) { record(start_, on); }
  void begins(int index, cudaStream_t on) { record(nth(begin_, index), on); }
  void ends(int index, cudaStream_t on) { record(nth(end_, index), on); }

  // Reads times after the step.
  void read(instruction_time* into) const {
    cudaEvent_t const start = start_.get();
    for (std::size_t i = 0; i < begin_.size(); ++i)
      into[i] = {between(start, begin_[i].get()), between(start, end_[i].get())};
  }

  void leave() {
    static_cast<void>(start_.release());
    for (event& e : begin_) static_cast<void>(e.release());
    for (event& e : end_) static_cast<void>(e.release());
  }

 private:
  void record(event const& e, cudaStream_t on) {
    ASHLAR_CUDA(cudaEventRecordWithFlags, e.get(), on, how_);
  }
  static std::int64_t between(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    ASHLAR_CUDA(cudaEventElapsedTime, &ms, from, to);
    // Another stream may be slightly ahead of the one that marks the beginning of the step.
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(static_cast<double>(ms) * 1e6));
  }

  unsigned how_ = cudaEventRecordDefault;
  event start_ = event::make(timing::on);
  std::vector<event> begin_, end_;  // by instruction
};

}  // namespace ashlar::cuda

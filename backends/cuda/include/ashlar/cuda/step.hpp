// A step on its streams: forked from one stream, joined to it again, issued anew each time or replayed.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/issuer.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// Steps follow each other on the stream of the first member.
class step_streams {
 public:
  explicit step_streams(std::vector<std::unique_ptr<member>>& members) : members_(&members) {
    on_gpu const here(gpu());
    origin_ = stream::make();
    fork_ = event::make();
    ended_ = event::make();
  }

  int gpu() const { return members_->front()->gpu; }

  // Issues a step: all streams start after the step before, and the step has ended when all have.
  void issue(function_ref<void()> act) {
    on_gpu const here(gpu());
    for (auto& m : *members_) m->marks.report_position(origin_.get(), progress_marks::none);
    ASHLAR_CUDA(cudaEventRecord, fork_.get(), origin_.get());
    for (auto& m : *members_) {
      for (stream const& s : m->on->streams()) ASHLAR_CUDA(cudaStreamWaitEvent, s.get(), fork_.get(), 0);
      if (m->times) m->times->starts(m->on->streams().front().get());
    }
    act();
    // Joins every lane: anything after the last event of a lane, such as a mark, must have ended, too.
    for (auto& m : *members_) {
      on_gpu const there(m->gpu);
      for (stream const& s : m->on->streams()) {
        ASHLAR_CUDA(cudaEventRecord, m->end.get(), s.get());
        ASHLAR_CUDA(cudaStreamWaitEvent, origin_.get(), m->end.get(), 0);
      }
    }
  }

  // Captures a step in a graph. If something fails, the capture that was begun is ended.
  void capture(function_ref<void()> act) {
    on_gpu const here(gpu());
    ASHLAR_CUDA(cudaStreamBeginCapture, origin_.get(), cudaStreamCaptureModeThreadLocal);
    cudaGraph_t made = nullptr;
    for (auto& m : *members_)
      if (m->times) m->times->captures();
    try {
      issue(act);
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(origin_.get(), &made));
      static_cast<void>(cudaGetLastError());
      graph const broken(made);
      throw;
    }
    ASHLAR_CUDA(cudaStreamEndCapture, origin_.get(), &made);
    graph const captured(made);
    cudaGraphExec_t ready = nullptr;
    ASHLAR_CUDA(cudaGraphInstantiate, &ready, captured.get(), 0);
    graph_ = executable_graph(ready);
  }
  bool is_captured() const { return static_cast<bool>(graph_); }
  void replay() {
    on_gpu const here(gpu());
    ASHLAR_CUDA(cudaGraphLaunch, graph_.get(), origin_.get());
  }

  // Marks the end of the step on the stream.
  void ends() {
    on_gpu const here(gpu());
    ASHLAR_CUDA(cudaEventRecord, ended_.get(), origin_.get());
  }
  // Whether everything that was issued has ended. Throws error when CUDA reports one on any GPU; the
  // event only knows of its own GPU.
  bool is_over() const {
    cudaError_t const code = cudaEventQuery(ended_.get());
    if (code == cudaErrorNotReady) return false;
    require(code, "cudaEventQuery");
    for (auto const& m : *members_)
      if (m->gpu != gpu()) ASHLAR_CUDA(cudaStreamQuery, m->on->streams().front().get());
    return true;
  }

  void leave() {
    static_cast<void>(origin_.release());
    static_cast<void>(graph_.release());
    static_cast<void>(fork_.release());
    static_cast<void>(ended_.release());
  }

 private:
  std::vector<std::unique_ptr<member>>* members_;
  stream origin_;
  event fork_, ended_;
  executable_graph graph_;
};

}  // namespace ashlar::cuda

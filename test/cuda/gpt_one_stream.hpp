// A step of the model on one stream of GPU 0, micro-batch after micro-batch, without a backend.
#pragma once

#include "gpt_arrays.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/queue.hpp>
#include <ashlar/run/contract.hpp>

#include <gpt/batch.hpp>
#include <gpt/config.hpp>
#include <gpt_cuda/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpt_cuda_test {

enum class backward_form : unsigned char { fused, split };
enum class memory_form : unsigned char { keep, recompute };

template <class T>
class one_stream {
 public:
  explicit one_stream(gpt_cuda::worker<T>& w)
      : worker_(&w), stream_(ashlar::cuda::stream::make()), queue_{stream_.get(), 0, 0, nullptr} {
    using enum ashlar::slot_kind;
    for (int i = 0; i < w.shape().stages; ++i)
      stages_.push_back({make(activation, i), make(gradient, i), make(checkpoint, i), make(stash, i),
                         make(weight_stash, i), make(weight_gradient, i)});
    if (w.shape().tied) tied_ = make(weight_gradient, w.shape().stages);
    norm_ = ashlar::cuda::device_memory(sizeof(double));
    ASHLAR_CUDA(cudaDeviceSynchronize);
  }

  // Computes losses and gradients of the worker's batch, and makes the optimizer's step.
  void step(backward_form form = backward_form::fused, memory_form memory = memory_form::keep) {
    enqueue(form, memory);
    ASHLAR_CUDA(cudaStreamSynchronize, stream_.get());
  }
  // Captures that step, to be replayed.
  ashlar::cuda::executable_graph capture(backward_form form) {
    ASHLAR_CUDA(cudaStreamBeginCapture, stream_.get(), cudaStreamCaptureModeGlobal);
    enqueue(form, memory_form::keep);
    cudaGraph_t made{};
    ASHLAR_CUDA(cudaStreamEndCapture, stream_.get(), &made);
    ashlar::cuda::graph const own(made);
    cudaGraphExec_t executable{};
    ASHLAR_CUDA(cudaGraphInstantiate, &executable, made, 0);
    return ashlar::cuda::executable_graph(executable);
  }
  void replay(ashlar::cuda::executable_graph const& step) {
    ASHLAR_CUDA(cudaGraphLaunch, step.get(), stream_.get());
    ASHLAR_CUDA(cudaStreamSynchronize, stream_.get());
  }

 private:
  using storage = ashlar::cuda::device_memory;
  struct slots {
    storage activation;
    storage gradient;  // of the input of the stage
    storage checkpoint;
    storage stash;
    storage weight_stash;
    storage weight_gradient;
  };

  storage make(ashlar::slot_kind kind, int of) const {
    storage slot(worker_->layout({.kind = kind, .of = of}).bytes);
    // No pass may rely on zeros.
    if (slot.size() > 0) ASHLAR_CUDA(cudaMemset, slot.data(), 0xff, slot.size());
    return slot;
  }
  static ashlar::buffer bytes(storage const& m) { return {m.data(), m.size()}; }
  slots& of(int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  void clear(storage const& m) {
    if (m.size() > 0) ASHLAR_CUDA(cudaMemsetAsync, m.data(), 0, m.size(), queue_.stream);
  }

  void enqueue(backward_form form, memory_form memory) {
    for (slots& s : stages_) clear(s.weight_gradient);
    clear(tied_);
    int const count = worker_->shape().stages;
    for (int m = 0; m < worker_->shape().micro_batches; ++m) {
      for (int i = 0; i < count; ++i) forward(i, m, memory);
      for (int i = count - 1; i >= 0; --i) backward(i, m, form, memory);
    }
    std::vector<ashlar::port> all;
    for (int g = 0; g < worker_->shape().groups(); ++g) {
      ashlar::buffer const gradient = g < count ? bytes(of(g).weight_gradient) : bytes(tied_);
      all.push_back({gradient, g, ashlar::element_type::f32});
      worker_->reduced(queue_, {.group = g, .gradient = gradient});
    }
    worker_->measure(queue_, {.gradients = all, .scalar = bytes(norm_)});
    for (int g = 0; g < worker_->shape().groups(); ++g)
      worker_->optimize(
          queue_,
          {.group = g, .gradient = all[static_cast<std::size_t>(g)].bytes, .scalar = bytes(norm_)});
  }

  void forward(int stage, int micro_batch, memory_form memory) {
    bool const last = stage + 1 == worker_->shape().stages;
    ashlar::port const input{stage > 0 ? bytes(of(stage - 1).activation) : ashlar::buffer{}, stage - 1};
    ashlar::port const output{bytes(of(stage).activation), stage + 1};
    ashlar::frame const f{
        .what = {ashlar::pass_kind::forward, stage, micro_batch},
        .inputs = {&input, stage > 0 ? 1U : 0U},
        .outputs = {&output, last ? 0U : 1U},
        .checkpoint = memory == memory_form::recompute ? bytes(of(stage).checkpoint) : ashlar::buffer{},
        .stash = bytes(of(stage).stash)};
    worker_->forward(queue_, f);
  }

  void backward(int stage, int micro_batch, backward_form form, memory_form memory) {
    slots& own = of(stage);
    bool const last = stage + 1 == worker_->shape().stages;
    ashlar::port const input{last ? ashlar::buffer{} : bytes(of(stage + 1).gradient), stage + 1};
    ashlar::port const output{bytes(own.gradient), stage - 1};
    ashlar::frame f{.what = {ashlar::pass_kind::recompute, stage, micro_batch},
                    .inputs = {},
                    .outputs = {},
                    .checkpoint = bytes(own.checkpoint),
                    .stash = bytes(own.stash)};
    if (memory == memory_form::recompute) {
      // The recompute has to do without what the forward left.
      ASHLAR_CUDA(cudaMemsetAsync, own.stash.data(), 0xff, own.stash.size(), queue_.stream);
      worker_->recompute(queue_, f);
    }
    f.checkpoint = {};
    f.weight_gradient = bytes(own.weight_gradient);
    f.inputs = {&input, last ? 0U : 1U};
    f.outputs = {&output, stage > 0 ? 1U : 0U};
    ashlar::port const tied{bytes(tied_), worker_->shape().stages};
    bool const is_tied = worker_->shape().tied && (stage == 0 || last);
    f.shared_gradients = {&tied, is_tied ? 1U : 0U};
    if (form == backward_form::fused) {
      f.what.kind = ashlar::pass_kind::backward;
      worker_->backward(queue_, f);
      return;
    }
    f.weight_stash = bytes(own.weight_stash);
    f.what.kind = ashlar::pass_kind::backward_input;
    worker_->backward_input(queue_, f);
    // This memory may hold something else now.
    if (!last) clear(of(stage + 1).gradient);
    f.what.kind = ashlar::pass_kind::backward_weight;
    f.inputs = {};
    f.outputs = {};
    worker_->backward_weight(queue_, f);
  }

  gpt_cuda::worker<T>* worker_;
  ashlar::cuda::stream stream_;
  ashlar::cuda::queue queue_;
  std::vector<slots> stages_;
  storage tied_;  // the gradient of what the first and the last stage have in common
  storage norm_;
};

}  // namespace gpt_cuda_test

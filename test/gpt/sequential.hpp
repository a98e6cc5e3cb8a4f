// Runs a step on one thread, micro-batch after micro-batch: the reference that every schedule must agree
// with.
#pragma once

#include "gpt/tensor.hpp"
#include "gpt/worker.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace gpt {

enum class backward_form : unsigned char { fused, split };
enum class memory_form : unsigned char { keep, recompute };

template <class Scalar>
class sequential {
 public:
  explicit sequential(worker<Scalar>& w) : worker_(&w) {
    for (int i = 0; i < w.shape().stages; ++i) {
      auto const make = [&](ashlar::slot_kind kind) { return array<std::byte>(w.bytes(kind, i)); };
      stages_.push_back({make(ashlar::slot_kind::activation), make(ashlar::slot_kind::gradient),
                         make(ashlar::slot_kind::checkpoint), make(ashlar::slot_kind::stash),
                         make(ashlar::slot_kind::weight_stash),
                         make(ashlar::slot_kind::weight_gradient)});
    }
    if (w.shape().tied)
      tied_ = array<std::byte>(w.bytes(ashlar::slot_kind::weight_gradient, w.shape().stages));
  }

  // Computes losses and gradients of the worker's batch. Allocates nothing.
  void step(backward_form backward = backward_form::fused, memory_form memory = memory_form::keep) {
    for (auto& stage : stages_) std::ranges::fill(stage.weight_gradient.span(), std::byte{});
    std::ranges::fill(tied_.span(), std::byte{});
    int const count = worker_->shape().stages;
    for (int m = 0; m < worker_->shape().micro_batches; ++m) {
      forward(m, memory);
      for (int i = count - 1; i >= 0; --i) backward_pass(i, m, backward, memory);
    }
    for (int i = 0; i < count; ++i)
      worker_->reduced(queue_, {.group = i, .gradient = of(i).weight_gradient.span()});
    if (worker_->shape().tied) worker_->reduced(queue_, {.group = count, .gradient = tied_.span()});
  }

  // Computes only the losses of the worker's batch, for validation.
  void evaluate() {
    for (int m = 0; m < worker_->shape().micro_batches; ++m) forward(m, memory_form::keep);
  }

 private:
  struct slots {
    array<std::byte> activation;
    array<std::byte> gradient;  // of the input of the stage
    array<std::byte> checkpoint;
    array<std::byte> stash;
    array<std::byte> weight_stash;
    array<std::byte> weight_gradient;
  };

  slots& of(int stage) { return stages_[static_cast<std::size_t>(stage)]; }

  void forward(int micro_batch, memory_form memory) {
    for (int i = 0; i < worker_->shape().stages; ++i) {
      ashlar::port const input{i > 0 ? of(i - 1).activation.span() : ashlar::buffer{}, i - 1};
      ashlar::port const output{of(i).activation.span()};
      bool const last = i + 1 == worker_->shape().stages;
      ashlar::frame const f{
          {ashlar::pass_kind::forward, i, micro_batch},
          {&input, i > 0 ? 1U : 0U},
          {&output, last ? 0U : 1U},
          memory == memory_form::recompute ? of(i).checkpoint.span() : ashlar::buffer{},
          of(i).stash.span(),
          {},
          {}};
      worker_->forward(queue_, f);
    }
  }

  void backward_pass(int stage, int micro_batch, backward_form form, memory_form memory) {
    auto& own = of(stage);
    bool const last = stage + 1 == worker_->shape().stages;
    ashlar::port const input{last ? ashlar::buffer{} : of(stage + 1).gradient.span(), stage + 1};
    ashlar::port const output{own.gradient.span(), stage - 1};
    ashlar::frame f{{ashlar::pass_kind::recompute, stage, micro_batch},
                    {},
                    {},
                    own.checkpoint.span(),
                    own.stash.span(),
                    {},
                    own.weight_gradient.span()};
    if (memory == memory_form::recompute) {
      std::ranges::fill(own.stash.span(), std::byte{});  // recompute has to do without what forward left
      worker_->recompute(queue_, f);
    }
    f.checkpoint = {};
    f.inputs = {&input, last ? 0U : 1U};
    f.outputs = {&output, stage > 0 ? 1U : 0U};
    ashlar::port const tied{tied_.span(), worker_->shape().stages};
    bool const is_tied = shape_of(worker_->shape(), stage).is_tied();
    f.shared_gradients = {&tied, is_tied ? 1U : 0U};
    if (form == backward_form::fused) {
      f.what.kind = ashlar::pass_kind::backward;
      worker_->backward(queue_, f);
      return;
    }
    f.what.kind = ashlar::pass_kind::backward_input;
    f.weight_stash = own.weight_stash.span();
    worker_->backward_input(queue_, f);
    f.what.kind = ashlar::pass_kind::backward_weight;
    f.inputs = {};
    f.outputs = {};
    worker_->backward_weight(queue_, f);
  }

  struct queue {
  } queue_;  // passes return when they are done
  worker<Scalar>* worker_;
  std::vector<slots> stages_;
  array<std::byte> tied_;  // the gradient of what is tied
};

}  // namespace gpt

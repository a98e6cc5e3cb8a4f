// The model as a worker of the CUDA backend.
#pragma once

#include "kernels/adam.hpp"
#include "kernels/attention.hpp"
#include "kernels/squares.hpp"
#include "parameters.hpp"
#include "scratch.hpp"
#include "slots.hpp"
#include "stage.hpp"
#include "weights.hpp"
#include <ashlar/cuda/handles.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/contract.hpp>

#include <gpt/adam.hpp>
#include <gpt/batch.hpp>
#include <gpt/config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt_cuda {

// Whether a worker keeps the gradient of each step for later inspection.
enum class gradients : bool { forgotten, kept };

// The GPT of gpt/worker.hpp on GPUs, of one data-parallel rank: the same model, parameters and initial
// values; T is the type of activations. Its verbs put everything on the queue's stream and are done:
// nothing is waited for and nothing allocated, and what differs from step to step lies in the GPU's
// memory, so that a step can be captured and replayed. What is public besides them is for in between
// steps, and waits.
//
// Results do not depend on the schedule: all sums have one order, and a product of some shape is always
// computed by the same algorithm.
template <activation_element T>
class worker : public parameters<T> {
 public:
  // Throws std::invalid_argument if there is no such model or its heads are too wide,
  // ashlar::cuda::error if a GPU lacks the memory.
  worker(gpt::config const& shape, std::uint64_t seed, site s = {},
         gradients kept = gradients::forgotten)
      : parameters<T>(shape, seed, std::move(s), kept == gradients::kept) {
    require_attention(shape.head_width());
    if (shape.shards + shape.input_shards > 0)
      throw std::invalid_argument("on GPUs, embedding and head are whole on one device each");
    if (shape.predicts) throw std::invalid_argument("on GPUs, there is no prediction layer");
    if (shape.last_sequences > 0) throw std::invalid_argument("on GPUs, micro-batches are of one size");
    for (int i = 0; i < shape.stages; ++i) stages_.emplace_back(gpt::shape_of(shape, i));
    scratch_.resize(index(this->where().devices()));
    for (int d = 0; d < this->where().devices(); ++d) {
      if (!this->where().is_here(d)) continue;
      ashlar::cuda::on_gpu const here(this->where().gpu_of(d));
      scratch_[index(d)] = std::make_unique<device_scratch<T>>(shape);
    }
    set_optimizer({});
  }

  // Sets the tokens of the next step. Throws std::invalid_argument unless there are as many as the shape
  // says.
  void set_batch(gpt::batch const& tokens) {
    std::size_t const expected = index(this->shape().tokens());
    if (tokens.inputs.size() != expected || tokens.targets.size() != expected)
      throw std::invalid_argument("a batch of this model has " + std::to_string(expected)
                                  + " tokens, not " + std::to_string(tokens.inputs.size()));
    for_each_device([&](step_memory const& step) {
      upload(step.inputs, tokens.inputs.data(), expected);
      upload(step.targets, tokens.targets.data(), expected);
    });
  }
  // Sets how the next step is made, if the program ends with the optimizer's.
  void set_optimizer(gpt::adam_options const& options) {
    double const warm1 = 1 - std::pow(options.beta1, updates_ + 1);
    double const warm2 = 1 - std::pow(options.beta2, updates_ + 1);
    adam_numbers const numbers{static_cast<float>(options.rate / warm1 * std::sqrt(warm2)),
                               static_cast<float>(options.epsilon * std::sqrt(warm2)),
                               static_cast<float>(options.beta1), static_cast<float>(options.beta2),
                               options.clip};
    for_each_device([&](step_memory const& step) { upload(step.numbers, &numbers, 1); });
  }

  // After a step: the loss of every micro-batch whose last stage is here, mean over its tokens, in nats;
  // zeros for the others.
  std::vector<double> losses() const {
    std::vector<double> all(index(this->shape().micro_batches), 0.0);
    for_each_device([&](step_memory const& step) {
      std::vector<double> own(all.size());
      download(own.data(), step.losses, own.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += own[i];
    });
    return all;
  }
  double loss() const {
    double total = 0;
    for (double const one : losses()) total += one;
    return total / this->shape().micro_batches;
  }
  // After a step that ends with the optimizer's, after the norm: that of the whole gradient. If it is
  // not finite, no weight has changed.
  double gradient_norm() const {
    double squares = 0;
    for_each_device([&](step_memory const& step) { download(&squares, step.squares, 1); });
    return std::sqrt(squares);
  }
  // Steps that have changed the weights; the caller counts.
  int updates() const { return updates_; }
  void set_updates(int steps) { updates_ = steps; }

  // --- What the engine calls

  ashlar::value_layout layout(ashlar::value_key key) const {
    using enum ashlar::slot_kind;
    constexpr std::size_t alignment = 256;
    bool const is_gradient = key.kind == weight_gradient || key.kind == gradient_shard;
    return {bytes(key.kind, key.of), alignment,
            is_gradient ? ashlar::element_type::f32 : slot_element<T>};
  }

  void forward(auto& q, ashlar::frame const& f) {
    bool const first = at(f.what.stage).first;
    T const* const input = first ? nullptr : data<T>(f.inputs[0]);
    context<T> const c = context_for(q, f);
    if (!f.checkpoint.empty() && input != nullptr) copy_stream(c, input, data<T>(f.checkpoint));
    run_forward(c, f, input, f.outputs.empty() ? nullptr : data<T>(f.outputs[0]));
  }
  void recompute(auto& q, ashlar::frame const& f) {
    bool const first = at(f.what.stage).first;
    run_forward(context_for(q, f), f, first ? nullptr : data<T>(f.checkpoint), nullptr);
  }

  // Needs no weight stash: the device's scratch memory is enough.
  void backward(auto& q, ashlar::frame const& f) {
    context<T> const c = context_for(q, f);
    run_backward(c, f, {true, true}, c.scratch().gradients);
  }
  void backward_input(auto& q, ashlar::frame const& f) {
    run_backward(context_for(q, f), f, {true, false},
                 laid_out<stage_gradients<T>>(f.what.stage, f.weight_stash));
  }
  void backward_weight(auto& q, ashlar::frame const& f) {
    run_backward(context_for(q, f), f, {false, true},
                 laid_out<stage_gradients<T>>(f.what.stage, f.weight_stash));
  }

  void reduced(auto& q, ashlar::parameter_frame const& f) {
    parameter_copy<T> const& own = this->on(f.site.device, f.group);
    if (own.gradient == nullptr) return;
    ASHLAR_CUDA(cudaMemcpyAsync, own.gradient + this->part(f.group).first, f.gradient.data(),
                f.gradient.size(), cudaMemcpyDeviceToDevice, q.stream);
  }
  void measure(auto& q, ashlar::parameter_frame const& f) {
    double* const pieces = at_device(f.site.device).pass.squares;
    int count = 0;
    for (ashlar::port const& gradient : f.gradients) {
      set_squares(gradient.bytes.size() / sizeof(float), data<float>(gradient), pieces + count,
                  q.stream);
      count += square_pieces;
    }
    set_sum_of_squares(count, pieces, data<double>(f.scalar), q.stream);
  }
  void optimize(auto& q, ashlar::parameter_frame const& f) {
    parameter_copy<T> const& own = this->on(f.site.device, f.group);
    step_memory const& step = at_device(f.site.device).step;
    auto const [first, count] = this->part(f.group);
    adam_step(count, step.numbers, f.scalar.empty() ? nullptr : data<double>(f.scalar),
              data<float>(f.gradient), own.weights + first, own.first + first, own.second + first,
              own.shadow == nullptr ? nullptr : own.shadow + first, step.squares, q.stream);
  }
  // This rank's shard of the weights of a stage, as passes read them.
  ashlar::buffer shard(int stage, int replica) {
    auto const [first, count] = this->part(stage);
    auto* const bytes = reinterpret_cast<std::byte*>(this->copy_of(stage, replica).values + first);
    return {bytes, count * sizeof(T)};
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  gpt::stage_shape const& at(int stage) const { return stages_.at(index(stage)); }
  device_scratch<T>& at_device(int device) const { return *scratch_.at(index(device)); }

  template <class Value>
  static Value* data(ashlar::buffer const& bytes) {
    return reinterpret_cast<Value*>(bytes.data());
  }
  template <class Value>
  static void upload(Value* to, Value const* from, std::size_t count) {
    ashlar::cuda::upload(to, from, count * sizeof(Value));
  }
  template <class Value>
  static void download(Value* to, Value const* from, std::size_t count) {
    ASHLAR_CUDA(cudaMemcpy, to, from, count * sizeof(Value), cudaMemcpyDeviceToHost);
  }
  template <class Act>
  void for_each_device(Act act) const {
    for (auto const& device : scratch_)
      if (device) act(device->step);
  }

  std::size_t bytes(ashlar::slot_kind kind, int of) const {
    using enum ashlar::slot_kind;
    switch (kind) {
      case activation:
      case gradient:
        return stream_bytes();
      case checkpoint:
        return at(of).first ? 0 : stream_bytes();
      case stash:
        return bytes_of<stage_stash<T>>(at(of));
      case weight_stash:
        return bytes_of<stage_gradients<T>>(at(of));
      case weight_gradient:
      case gradient_shard:
      case micro_gradient:
        return this->elements(of) * sizeof(float);
      case weight:
        return this->elements(of) * sizeof(T);
      case sequence_state:  // each chunk of a sequence is one of its own to this model
      case sequence_gradient:
      case scalar:
      case work:  // it has none
      case work_state:
      case host_checkpoint:  // nobody asks: as on the device
      case host_stash:
        break;
    }
    return 0;
  }
  std::size_t stream_bytes() const {
    return index(this->shape().rows()) * index(this->shape().width) * sizeof(T);
  }

  context<T> context_for(auto& q, ashlar::frame const& f) const {
    return {this->shape(), at_device(f.site.device), q.stream};
  }

  // A slot as the arrays it holds. Throws std::length_error if it is too small for them.
  template <class Layout>
  Layout laid_out(int stage, ashlar::buffer slot) const {
    std::size_t const needed = bytes_of<Layout>(at(stage));
    if (slot.size() < needed)
      throw std::length_error("stage " + std::to_string(stage) + " needs a slot of "
                              + std::to_string(needed) + " bytes, not " + std::to_string(slot.size()));
    carver from(slot.data());
    return Layout(from, at(stage));
  }

  stage_weights<T> weights_for(ashlar::frame const& f) const {
    gpt::stage_shape const& shape = at(f.what.stage);
    float const* tied_floats = nullptr;
    T const* tied_values = nullptr;
    if (shape.model.tied && (shape.first || shape.last)) {
      parameter_copy<T> const& tied = this->on(f.site.device, shape.model.stages);
      tied_floats = tied.weights;
      tied_values = tied.values;
    }
    parameter_copy<T> const& own = this->on(f.site.device, f.what.stage);
    T const* const values = f.weight.empty() ? own.values : data<T>(f.weight);
    return {shape, own.weights, values, tied_floats, tied_values};
  }

  tokens_of tokens_for(context<T> const& c, ashlar::frame const& f) const {
    step_memory const& step = c.device.step;
    std::size_t const first = index(f.what.micro_batch) * index(c.rows());
    return {step.inputs + first, step.targets + first, step.losses + f.what.micro_batch};
  }

  void run_forward(context<T> const& c, ashlar::frame const& f, T const* input, T* output) const {
    stage_forward(c, at(f.what.stage), weights_for(f), laid_out<stage_stash<T>>(f.what.stage, f.stash),
                  tokens_for(c, f), input, output);
  }

  void run_backward(context<T> const& c, ashlar::frame const& f, gpt::backward_parts parts,
                    stage_gradients<T> const& made) const {
    gpt::stage_shape const& shape = at(f.what.stage);
    float* const own = parts.weight ? data<float>(f.weight_gradient) : nullptr;
    float* const tied = f.shared_gradients.empty() ? nullptr : data<float>(f.shared_gradients[0]);
    stage_backward(c, shape, parts, weights_for(f), laid_out<stage_stash<T>>(f.what.stage, f.stash),
                   made, tokens_for(c, f), parts.input && !shape.last ? data<T>(f.inputs[0]) : nullptr,
                   parts.input && !shape.first ? data<T>(f.outputs[0]) : nullptr,
                   gradients_at(shape, own, tied));
  }

  std::vector<gpt::stage_shape> stages_;
  std::vector<std::unique_ptr<device_scratch<T>>> scratch_;  // by device
  int updates_ = 0;
};

}  // namespace gpt_cuda

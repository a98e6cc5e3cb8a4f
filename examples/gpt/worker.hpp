// The model as a worker: what an engine calls to run the passes of a schedule.
#pragma once

#include "adam.hpp"
#include "batch.hpp"
#include "config.hpp"
#include "initial.hpp"
#include "stage.hpp"
#include "tensor.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt {

// A GPT cut into stages. Passes may run on several threads at once; everything else (set_batch, update,
// ...) only between steps. A pass neither allocates nor locks, and gives the same bits on any thread.
//
// Every forward and recompute needs the stash, also where a later recompute rebuilds it: it is their
// working memory.
template <class Scalar>
class worker {
 public:
  // Throws std::invalid_argument if there is no such model.
  worker(config const& shape, std::uint64_t seed) : shape_(shape) {
    require_valid(shape);
    for (int i = 0; i < shape.stages; ++i) {
      auto& stage = *stages_.emplace_back(std::make_unique<state>(shape_of(shape, i)));
      parameters_of(stage, stage.weights.data())
          .visit(stage.shape, [&](auto const& what, auto const& tensor) {
            initialise(what, seed, tensor);
            parameters_ += tensor.size();
          });
    }
    losses_.assign(static_cast<std::size_t>(shape.micro_batches), 0.0);
  }

  config const& shape() const { return shape_; }
  // Number of parameters of the whole model.
  std::size_t parameters() const { return parameters_; }

  // The tokens of the next step. Throws std::invalid_argument unless there are as many as the shape
  // says.
  void set_batch(gpt::batch tokens) {
    auto const expected = static_cast<std::size_t>(shape_.tokens());
    if (tokens.inputs.size() != expected || tokens.targets.size() != expected) {
      throw std::invalid_argument("a batch of this model has " + std::to_string(expected)
                                  + " tokens, not " + std::to_string(tokens.inputs.size()));
    }
    batch_ = std::move(tokens);
  }

  // After a step: the loss of every micro-batch, mean over its tokens, in nats.
  std::span<double const> losses() const { return losses_; }
  // Their mean.
  double loss() const {
    double total = 0;
    for (double const loss : losses_) total += loss;
    return total / static_cast<double>(losses_.size());
  }

  // All parameters of a stage, tensor after tensor; between them up to a cache line of zeros.
  std::span<Scalar> weights(int stage) { return at(stage).weights.span(); }
  std::span<Scalar const> weights(int stage) const { return at(stage).weights.span(); }
  // After a step: the gradient of the mean loss, in the same layout.
  std::span<Scalar const> gradient(int stage) const { return at(stage).gradient.span(); }

  // Calls f(tensor_description, matrix<Scalar> weight, matrix<Scalar> gradient) for each tensor of a
  // stage.
  template <class F>
  void visit(int stage, F&& f) {
    auto& s = at(stage);
    parameters_of(s, s.weights.data())
        .visit(s.shape, [&](auto const& what, matrix<Scalar> const& weight) {
          auto gradient = weight;
          gradient.data = s.gradient.data() + (weight.data - s.weights.data());
          f(what, weight, gradient);
        });
  }

  // --- Optimizer
  // ---------------------------------------------------------------------------------------------

  // The Euclidean norm of the whole model's gradient; the same bits for any number of stages.
  double gradient_norm() {
    double total = 0;
    for (int i = 0; i < shape_.stages; ++i) {
      visit(i, [&](auto const&, auto const&, auto const& gradient) {
        double squares = 0;
        for (int row = 0; row < gradient.rows; ++row) {
          squares +=
              static_cast<double>(dot<Scalar>(gradient.row(row), gradient.row(row), gradient.cols));
        }
        total += squares;
      });
    }
    return std::sqrt(total);
  }

  // What update(stage, ...) has to scale gradients by for their norm to be at most options.clip.
  double clipping(adam_options const& options) {
    if (options.clip <= 0) return 1;
    double const norm = gradient_norm();
    return norm > options.clip ? options.clip / norm : 1;
  }

  // One Adam step on one stage. Different stages may be updated at the same time.
  void update(int stage, adam_options const& options, double scale) {
    auto& s = at(stage);
    adam_step<Scalar>(options, ++s.steps, scale, s.weights.span(), std::as_const(s.gradient).span(),
                      s.first_moment.span(), s.second_moment.span());
  }

  // One Adam step on the whole model.
  void update(adam_options const& options) {
    double const scale = clipping(options);
    for (int i = 0; i < shape_.stages; ++i) update(i, options, scale);
  }

  // --- What the engine calls
  // -----------------------------------------------------------------------------------

  // What a slot holds of a stage; 0 bytes where the stage has nothing to keep there.
  ashlar::value_layout layout(ashlar::value_key key) const {
    return {bytes(key.kind, key.of), 64,
            sizeof(Scalar) == sizeof(float) ? ashlar::element_type::f32 : ashlar::element_type::f64};
  }
  std::size_t bytes(ashlar::slot_kind kind, int stage) const {
    auto const& shape = at(stage).shape;
    auto const activation =
        static_cast<std::size_t>(shape.model.rows()) * static_cast<std::size_t>(shape.model.width);
    switch (kind) {
      case ashlar::slot_kind::activation:
      case ashlar::slot_kind::gradient:
        return activation * sizeof(Scalar);
      case ashlar::slot_kind::checkpoint:
        return shape.first ? 0 : activation * sizeof(Scalar);
      case ashlar::slot_kind::stash:
        return at(stage).stash_size * sizeof(Scalar);
      case ashlar::slot_kind::weight_stash:
        return at(stage).weight_stash_size * sizeof(Scalar);
      case ashlar::slot_kind::weight_gradient:
      case ashlar::slot_kind::weight:
      case ashlar::slot_kind::gradient_shard:
        return at(stage).weights.size() * sizeof(Scalar);
      case ashlar::slot_kind::scalar:
        break;
    }
    return 0;
  }

  void forward(auto&, ashlar::frame const& f) {
    auto const& shape = at(f.what.stage).shape;
    Scalar const* const input = shape.first ? nullptr : data(f.inputs[0]);
    if (!f.checkpoint.empty() && input != nullptr) {
      std::copy_n(input, activation_size(), data(f.checkpoint));
    }
    double const loss = run_forward(f, input, shape.last ? nullptr : data(f.outputs[0]));
    if (shape.last) losses_[static_cast<std::size_t>(f.what.micro_batch)] = loss;
  }

  void recompute(auto&, ashlar::frame const& f) {
    run_forward(f, at(f.what.stage).shape.first ? nullptr : data(f.checkpoint), nullptr);
  }

  // Needs no weight stash: the working memory at the end of the stash is enough.
  void backward(auto&, ashlar::frame const& f) {
    state const& s = at(f.what.stage);
    stage_stash<Scalar> const stash = laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    run_backward(f, {true, true}, stash, stash.gradients);
  }

  void backward_input(auto&, ashlar::frame const& f) { run_split(f, {true, false}); }
  void backward_weight(auto&, ashlar::frame const& f) { run_split(f, {false, true}); }

  // Remembers the complete gradient of a stage. The replicas of a stage may all call it: their gradients
  // are equal.
  void reduced(auto&, ashlar::parameter_frame const& f) {
    auto& s = at(f.group);
    std::lock_guard const lock(s.writing);
    std::copy_n(data(f.gradient), s.gradient.size(), s.gradient.data());
  }

 private:
  struct state {
    explicit state(stage_shape const& s)
        : shape(s),
          stash_size(elements_of<stage_stash<Scalar>, Scalar>(s)),
          weight_stash_size(elements_of<stage_gradients<Scalar>, Scalar>(s)) {
      std::size_t const size = elements_of<stage_parameters<Scalar>, Scalar>(s);
      for (auto* const values : {&weights, &gradient, &first_moment, &second_moment}) {
        *values = array<Scalar>(size);
      }
    }

    stage_shape shape;
    std::size_t stash_size;         // elements
    std::size_t weight_stash_size;  // elements
    array<Scalar> weights;
    array<Scalar> gradient;
    array<Scalar> first_moment;
    array<Scalar> second_moment;
    int steps = 0;
    std::mutex writing;
  };

  state& at(int stage) { return *stages_.at(static_cast<std::size_t>(stage)); }
  state const& at(int stage) const { return *stages_.at(static_cast<std::size_t>(stage)); }

  std::size_t activation_size() const {
    return static_cast<std::size_t>(shape_.rows()) * static_cast<std::size_t>(shape_.width);
  }

  static Scalar* data(ashlar::buffer const& bytes) { return reinterpret_cast<Scalar*>(bytes.data()); }

  template <class Value>
  static stage_parameters<Value> parameters_of(state const& s, Value* values) {
    carver<Value> from(values);
    return {from, s.shape};
  }

  // A slot as the group of matrices it holds. Throws std::length_error if it is too small for them.
  template <class Layout>
  static Layout laid_out(state const& s, ashlar::buffer slot, std::size_t size) {
    if (slot.size() < size * sizeof(Scalar)) {
      throw std::length_error("stage " + std::to_string(s.shape.stage) + " needs a slot of "
                              + std::to_string(size * sizeof(Scalar)) + " bytes, not "
                              + std::to_string(slot.size()));
    }
    carver<Scalar> from(data(slot));
    return Layout(from, s.shape);
  }

  std::span<token const> tokens(std::vector<token> const& all, int micro_batch) const {
    auto const size = static_cast<std::size_t>(shape_.rows());
    return std::span(all).subspan(static_cast<std::size_t>(micro_batch) * size, size);
  }

  double run_forward(ashlar::frame const& f, Scalar const* input, Scalar* output) {
    state const& s = at(f.what.stage);
    auto const stash = laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    return stage_forward<Scalar>(s.shape, parameters_of<Scalar const>(s, s.weights.data()), stash,
                                 tokens(batch_.inputs, f.what.micro_batch),
                                 tokens(batch_.targets, f.what.micro_batch), input, output);
  }

  void run_split(ashlar::frame const& f, backward_parts parts) {
    state const& s = at(f.what.stage);
    run_backward(f, parts, laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size),
                 laid_out<stage_gradients<Scalar>>(s, f.weight_stash, s.weight_stash_size));
  }

  void run_backward(ashlar::frame const& f, backward_parts parts, stage_stash<Scalar> const& stash,
                    stage_gradients<Scalar> const& gradients) {
    state const& s = at(f.what.stage);
    bool const up = parts.input && !s.shape.last;
    bool const down = parts.input && !s.shape.first;
    stage_backward<Scalar>(s.shape, parts, parameters_of<Scalar const>(s, s.weights.data()), stash,
                           gradients, tokens(batch_.inputs, f.what.micro_batch),
                           tokens(batch_.targets, f.what.micro_batch), up ? data(f.inputs[0]) : nullptr,
                           down ? data(f.outputs[0]) : nullptr,
                           parameters_of<Scalar>(s, data(f.weight_gradient)));
  }

  config shape_;
  std::vector<std::unique_ptr<state>> stages_;
  std::size_t parameters_ = 0;
  gpt::batch batch_;
  std::vector<double> losses_;
};

}  // namespace gpt

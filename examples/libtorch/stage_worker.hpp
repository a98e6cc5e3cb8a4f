// A worker whose stages are modules of LibTorch, for an engine of Ashlar to train.
#pragma once

#include "kept_graph.hpp"
#include "queue_scope.hpp"
#include <ashlar/run/contract.hpp>

#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace libtorch {

// The model, cut into a chain of stages.
//
// `Module` is a module holder: torch::nn::Sequential, or that of your own module with forward(Tensor).
// Modules must give the same result whenever they run (no dropout), because passes run in the order of
// the schedule.
template <class Module>
struct staged_model {
  std::vector<Module> stages;
  std::vector<std::vector<std::int64_t>> between;  // the shape of what each stage but the last gives
  int micro_batches = 1;
  std::function<at::Tensor(int)> input;             // of a micro-batch, for the first stage
  std::function<at::Tensor(at::Tensor, int)> loss;  // a scalar, of what the last stage gives; a step's
                                                    // gradient is that of the sum
  std::vector<std::int64_t> left_out = {};          // see leave_out

  // Another process has this stage. Only the number of its parameters' elements is kept, which all
  // processes must know.
  void leave_out(std::size_t s) {
    left_out.resize(stages.size());
    for (at::Tensor const& p : stages[s]->parameters())
      if (p.requires_grad()) left_out[s] += p.numel();
    stages[s] = nullptr;
  }
};

// Passes may run on several threads at once, as engines do; everything else only between steps.
//
// A forward leaves an autograd graph for its backward: it lies in a table, and the program's slots hold
// pointers to it, so that all that is proved of stashes holds for graphs. Activations, the gradients of
// activations and of parameters lie in slots as numbers. A program that recomputes drops the graph after
// the forward and keeps a copy of the input.
template <class Module>
class stage_worker {
 public:
  // Throws std::invalid_argument for a table of shapes of the wrong length, or a stage without
  // parameters.
  explicit stage_worker(staged_model<Module> model)
      : model_(std::move(model)), losses_(static_cast<std::size_t>(model_.micro_batches)) {
    if (model_.between.size() + 1 != model_.stages.size())
      throw std::invalid_argument("a model of " + std::to_string(model_.stages.size())
                                  + " stages has one shape less between them, not "
                                  + std::to_string(model_.between.size()));
    model_.left_out.resize(model_.stages.size());
    for (std::size_t s = 0; s < model_.stages.size(); ++s) {
      stages_.push_back({.parameters = nullptr, .elements = model_.left_out[s], .kept = {}});
      if (!model_.stages[s].is_empty()) take(stages_.back(), *model_.stages[s]);
      if (stages_.back().elements == 0)
        throw std::invalid_argument("stage " + std::to_string(s) + " has no parameters");
    }
  }

  // The loss of a micro-batch, after a step; undefined in a process without the last stage.
  at::Tensor loss(int micro_batch) const { return losses_[static_cast<std::size_t>(micro_batch)]; }
  // Their sum, in order.
  double loss() const {
    double sum = 0;
    for (at::Tensor const& one : losses_) sum += one.item<double>();
    return sum;
  }

  // --- What the engine calls

  ashlar::value_layout layout(ashlar::value_key key) const {
    using ashlar::slot_kind;
    std::int64_t elements = 0;
    switch (key.kind) {
      case slot_kind::activation:
        elements = elements_after(key.of);
        break;
      case slot_kind::gradient:
        elements = elements_after(key.of - 1);
        break;
      case slot_kind::checkpoint:  // of the first stage a sign that there is one
        elements = key.of == 0 ? 1 : elements_after(key.of - 1);
        break;
      case slot_kind::stash:
      case slot_kind::weight_stash:
        return {.bytes = sizeof(kept_graph*), .alignment = alignof(kept_graph*)};
      case slot_kind::weight_gradient:
        if (key.of >= static_cast<int>(stages_.size()))
          throw std::invalid_argument("this worker's stages have no parameters in common");
        elements = at(key.of).elements;
        break;
      default:
        break;
    }
    return {.bytes = static_cast<std::size_t>(elements) * c10::elementSize(kind_),
            .alignment = 64,
            .element = kind_ == at::kDouble  ? ashlar::element_type::f64
                       : kind_ == at::kFloat ? ashlar::element_type::f32
                                             : ashlar::element_type::opaque};
  }

  void forward(auto& q, ashlar::frame const& f) {
    queue_scope const on(q);
    int const s = f.what.stage;
    at::Tensor x = f.inputs.empty() ? model_.input(f.what.micro_batch) : input_of(f.inputs[0], s);
    if (f.checkpoint.empty()) {
      hand_on(f, run(f, x));
      return;
    }
    at::NoGradGuard const without_graph;
    if (s > 0) in_slot(f.checkpoint, s, model_.between[before(s)]).copy_(x);
    hand_on(f, outcome(f, x));
  }

  void recompute(auto& q, ashlar::frame const& f) {
    queue_scope const on(q);
    int const s = f.what.stage;
    run(f, s == 0 ? model_.input(f.what.micro_batch) : input_of(f.checkpoint, s));
  }

  void backward(auto& q, ashlar::frame const& f) {
    queue_scope const on(q);
    hand_back(f, graph_in(f.stash).backward(output_gradient(f), sums_of(f)));
  }

  void backward_input(auto& q, ashlar::frame const& f) {
    queue_scope const on(q);
    // Gradients that are kept may be the slot's own memory, which is free when the pass is over.
    hand_back(f, graph_in(f.stash).backward_input(output_gradient(f).clone()));
    put(f.weight_stash, graph_in(f.stash));
  }
  void backward_weight(auto& q, ashlar::frame const& f) {
    queue_scope const on(q);
    graph_in(f.weight_stash).backward_weight(sums_of(f));
  }

  // Runs two passes of one device at once: the backward on a thread of its own.
  void overlapped(auto& q, ashlar::frame const& forward_frame, ashlar::frame const& backward_frame) {
    auto other = std::async(std::launch::async, [&] {
      if (backward_frame.what.kind == ashlar::pass_kind::backward_input)
        backward_input(q, backward_frame);
      else if (backward_frame.what.kind == ashlar::pass_kind::backward_weight)
        backward_weight(q, backward_frame);
      else
        backward(q, backward_frame);
    });
    forward(q, forward_frame);
    other.get();
  }

  // A stage's gradient is complete: its parameters' grad() is what lies in the slot, until the engine is
  // gone. Replicas of a stage on threads have their parameters in common; either slot has the same bits.
  void reduced(auto&, ashlar::parameter_frame const& f) {
    std::lock_guard const lock(reduced_);
    std::vector<at::Tensor> const slices = slices_of(f.group, f.gradient);
    auto next = slices.begin();
    for (at::Tensor p : at(f.group).parameters->all()) p.mutable_grad() = *next++;
  }

 private:
  struct stage {
    std::unique_ptr<parameter_list> parameters;
    std::int64_t elements = 0;     // of all of them, also where the stage is left out
    std::vector<kept_graph> kept;  // by micro-batch
  };

  void take(stage& s, torch::nn::Module const& module) {
    std::vector<at::Tensor> parameters;
    for (at::Tensor const& p : module.parameters())
      if (p.requires_grad()) parameters.push_back(p);
    for (at::Tensor const& p : parameters) s.elements += p.numel();
    if (!parameters.empty()) kind_ = parameters[0].scalar_type();
    s.parameters = std::make_unique<parameter_list>(std::move(parameters));
    s.kept.resize(static_cast<std::size_t>(model_.micro_batches));
  }

  static std::size_t before(int s) { return static_cast<std::size_t>(s - 1); }
  stage& at(int s) { return stages_[static_cast<std::size_t>(s)]; }
  stage const& at(int s) const { return stages_[static_cast<std::size_t>(s)]; }
  bool is_last(int s) const { return s + 1 == static_cast<int>(stages_.size()); }

  std::int64_t elements_after(int s) const {
    if (s < 0 || is_last(s)) return 0;
    return c10::multiply_integers(model_.between[static_cast<std::size_t>(s)]);
  }

  // Returns a slot as a tensor where the stage computes.
  at::Tensor in_slot(ashlar::buffer slot, int s, std::vector<std::int64_t> const& shape) const {
    return torch::from_blob(slot.data(), shape,
                            at(s).parameters->all()[0].options().requires_grad(false));
  }
  // Returns a copy, as the graph keeps it longer than the slot does.
  at::Tensor input_of(ashlar::buffer slot, int s) const {
    return in_slot(slot, s, model_.between[before(s)]).clone().requires_grad_();
  }

  static kept_graph& graph_in(ashlar::buffer slot) {
    return **reinterpret_cast<kept_graph**>(slot.data());
  }
  static void put(ashlar::buffer slot, kept_graph& graph) {
    *reinterpret_cast<kept_graph**>(slot.data()) = &graph;
  }

  // The output of a stage; of the last one the loss.
  at::Tensor outcome(ashlar::frame const& f, at::Tensor const& x) {
    at::Tensor const y = model_.stages[static_cast<std::size_t>(f.what.stage)]->forward(x);
    if (!is_last(f.what.stage)) return y;
    at::Tensor const loss = model_.loss(y, f.what.micro_batch);
    losses_[static_cast<std::size_t>(f.what.micro_batch)] = loss.detach();
    return loss;
  }
  at::Tensor run(ashlar::frame const& f, at::Tensor const& x) {
    at::Tensor const y = outcome(f, x);
    stage& s = at(f.what.stage);
    kept_graph& kept = s.kept[static_cast<std::size_t>(f.what.micro_batch)];
    kept = kept_graph(f.what.stage > 0 ? x : at::Tensor(), y, *s.parameters);
    put(f.stash, kept);
    return y;
  }

  void hand_on(ashlar::frame const& f, at::Tensor const& y) {
    if (!f.outputs.empty())
      in_slot(f.outputs[0], f.what.stage, model_.between[static_cast<std::size_t>(f.what.stage)])
          .copy_(y.detach());
  }
  void hand_back(ashlar::frame const& f, at::Tensor const& gradient) {
    if (!f.outputs.empty())
      in_slot(f.outputs[0], f.what.stage, model_.between[before(f.what.stage)]).copy_(gradient);
  }
  at::Tensor output_gradient(ashlar::frame const& f) const {
    int const s = f.what.stage;
    if (is_last(s)) return at::ones({}, at(s).parameters->all()[0].options().requires_grad(false));
    return in_slot(f.inputs[0], s, model_.between[static_cast<std::size_t>(s)]);
  }

  // The parts of a stage's slot, by parameter.
  std::vector<at::Tensor> slices_of(int s, ashlar::buffer slot) const {
    std::vector<at::Tensor> slices;
    std::int64_t begin = 0;
    at::Tensor const all = in_slot(slot, s, {at(s).elements});
    for (at::Tensor const& p : at(s).parameters->all()) {
      slices.push_back(all.narrow(0, begin, p.numel()).view(p.sizes()));
      begin += p.numel();
    }
    return slices;
  }
  gradient_sums sums_of(ashlar::frame const& f) const {
    return slices_of(f.what.stage, f.weight_gradient);
  }

  staged_model<Module> model_;
  std::vector<stage> stages_;
  at::ScalarType kind_ = at::kFloat;
  std::vector<at::Tensor> losses_;  // by micro-batch
  std::mutex reduced_;
};

}  // namespace libtorch

// The modules without a pipeline, to compare the gradients of a schedule with.
#pragma once

#include "stage_worker.hpp"
#include <ashlar/program/program.hpp>

#include <torch/csrc/autograd/autograd.h>

#include <cstddef>
#include <vector>

namespace libtorch {

// The order in which a program adds up the gradients of a stage: for each device that holds the stage,
// its micro-batches in the order of its passes.
inline std::vector<std::vector<int>> order_of_sums(ashlar::program_view const& p, int stage) {
  std::vector<std::vector<int>> order;
  for (int const device : p.groups.holders(stage)) {
    order.emplace_back();
    for (ashlar::instruction const& i : p.stream(device))
      if (i.code == ashlar::opcode::compute && i.what.stage == stage
          && (i.what.kind == ashlar::pass_kind::backward
              || i.what.kind == ashlar::pass_kind::backward_weight))
        order.back().push_back(i.what.micro_batch);
  }
  return order;
}

// Makes one step: forward() through all modules and autograd over all of them, for one micro-batch after
// another. Sets the parameters' grad(). Returns the losses.
template <class Module>
std::vector<at::Tensor> plain_step(staged_model<Module> const& model, ashlar::program_view const& p) {
  std::vector<std::vector<at::Tensor>> parameters;
  std::vector<at::Tensor> all, losses;
  for (Module const& stage : model.stages) {
    parameters.push_back(stage->parameters());
    all.insert(all.end(), parameters.back().begin(), parameters.back().end());
  }
  std::vector<std::vector<at::Tensor>> gradients;  // by micro-batch
  for (int k = 0; k < model.micro_batches; ++k) {
    at::Tensor x = model.input(k);
    for (Module stage : model.stages) x = stage->forward(x);  // a handle, which must not be const
    losses.push_back(model.loss(x, k));
    gradients.push_back(torch::autograd::grad({losses.back()}, all));
    losses.back() = losses.back().detach();
  }
  std::size_t first = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    for (std::size_t i = 0; i < parameters[s].size(); ++i) {
      at::Tensor sum;
      for (std::vector<int> const& of_holder : order_of_sums(p, static_cast<int>(s))) {
        at::Tensor part = at::zeros_like(parameters[s][i]);
        for (int const k : of_holder) part.add_(gradients[static_cast<std::size_t>(k)][first + i]);
        sum = sum.defined() ? sum.add_(part) : part;
      }
      parameters[s][i].mutable_grad() = sum;
    }
    first += parameters[s].size();
  }
  return losses;
}

}  // namespace libtorch

// The autograd graph of a stage's forward pass, and the three backward passes that run parts of it.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/variable.h>

#include <cstddef>
#include <vector>

namespace libtorch {

// The parameters of a stage, and where their gradients are summed up.
//
// A hook on each parameter adds its gradient to the sum as soon as autograd has it, while it still lies
// in the processor's caches, and not when the pass is over.
class parameter_list {
 public:
  explicit parameter_list(std::vector<at::Tensor> parameters);
  parameter_list(parameter_list const&) = delete;
  ~parameter_list();

  std::vector<at::Tensor> const& all() const { return parameters_; }
  torch::autograd::edge_list const& leaves() const { return leaves_; }

 private:
  std::vector<at::Tensor> parameters_;
  torch::autograd::edge_list leaves_;
  std::vector<unsigned> hooks_;
};

// Sums by parameter, which a pass adds to.
using gradient_sums = std::vector<at::Tensor>;

// One micro-batch on one stage. Either backward() is called, or backward_input() and later
// backward_weight(); no operator runs in both of them. Any thread may call them, one at a time.
//
// The nodes that lead from the output to the input are the trunk; what hangs off it are branches, which
// lead to parameters. The input pass runs the trunk, and keeps the gradients that arrive at each node
// with a branch; then the trunk is cut there. The weight pass goes on from those gradients into what is
// left, the branches. A node with a branch is called twice (a linear layer for the gradient of its
// input, then for that of its weights), but autograd's nodes compute only gradients that somebody waits
// for. PyTorch's own pipelines split backwards at the same nodes
// (torch/distributed/pipelining/_backward.py).
class kept_graph {
 public:
  kept_graph() = default;

  // `output`: the start of the backward. `input`: a leaf that requires a gradient, or undefined in a
  // stage that reads data. Refers to the parameters.
  kept_graph(at::Tensor const& input, at::Tensor const& output, parameter_list const& parameters);

  // Runs both at once. Returns the gradient of the input. The graph is gone afterwards.
  at::Tensor backward(at::Tensor const& output_gradient, gradient_sums const& sums);

  // Returns the gradient of the input. Parts of the graph that only it needs are gone afterwards.
  at::Tensor backward_input(at::Tensor const& output_gradient);
  // Adds up the gradients of the parameters. The graph is gone afterwards.
  void backward_weight(gradient_sums const& sums);

 private:
  struct division;

  parameter_list const* parameters_ = nullptr;
  torch::autograd::Edge root_, input_;
  torch::autograd::edge_list starts_;  // of the weight pass: into the nodes with branches
  std::vector<at::Tensor> arrived_;    // the gradients there
};

}  // namespace libtorch

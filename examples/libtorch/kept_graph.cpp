#include "kept_graph.hpp"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace libtorch {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using node_pointer = decltype(Edge::function);

namespace {

// All nodes below one, each before those that it hands gradients to. O(nodes and edges).
std::vector<node_pointer> in_order_of_execution(node_pointer const& root) {
  std::vector<node_pointer> found;
  std::unordered_set<Node*> seen{root.get()};
  std::vector<std::pair<node_pointer, std::size_t>> path{{root, 0}};
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->next_edges().size()) {
      found.push_back(node);
      path.pop_back();
      continue;
    }
    Edge const& e = node->next_edges()[next++];
    if (e.is_valid() && seen.insert(e.function.get()).second) path.emplace_back(e.function, 0);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// The gradients that arrive at some edges.
std::vector<at::Tensor> run(edge_list const& from, std::vector<at::Tensor> const& gradients, bool keep,
                            edge_list const& to) {
  if (from.empty()) return std::vector<at::Tensor>(to.size());
  return torch::autograd::Engine::get_default_engine().execute(from, gradients, keep, false, false, to);
}

// The sums that the hooks on this thread add to. On a GPU autograd calls hooks on a thread of its own,
// which has none; then the gradients are added when the pass is over.
class open_sums {
 public:
  open_sums(parameter_list const& of, gradient_sums const& sums)
      : of_(&of), sums_(&sums), is_done_(sums.size(), false) {
    here = this;
  }
  open_sums(open_sums const&) = delete;
  ~open_sums() { here = nullptr; }

  // The result of a hook takes the place of the gradient, which is free then.
  static at::Tensor arrived(parameter_list const* of, std::size_t p, at::Tensor const& gradient) {
    if (here == nullptr || here->of_ != of) return gradient;
    return here->add(p, gradient);
  }
  void add_late(std::size_t p, at::Tensor const& gradient) {
    if (gradient.defined() && !is_done_[p]) add(p, gradient);
  }

 private:
  static thread_local open_sums* here;

  at::Tensor add(std::size_t p, at::Tensor const& gradient) {
    at::NoGradGuard const without_graph;
    is_done_[p] = true;
    at::Tensor sum = (*sums_)[p];
    return sum.add_(gradient);
  }

  parameter_list const* of_;
  gradient_sums const* sums_;
  std::vector<bool> is_done_;
};
thread_local open_sums* open_sums::here = nullptr;

}  // namespace

// Says which nodes are the trunk, and what hangs off it.
struct kept_graph::division {
  std::vector<node_pointer> order;
  std::unordered_set<Node*> parameters, trunk;
  std::vector<node_pointer> branched;  // of the trunk

  division(Edge const& root, Edge const& input, edge_list const& leaves)
      : order(in_order_of_execution(root.function)) {
    for (Edge const& leaf : leaves) parameters.insert(leaf.function.get());
    Node* const end = input.is_valid() ? input.function.get() : deepest_parameter();
    if (end != nullptr) find_trunk(end, !input.is_valid());
    trunk.insert(root.function.get());  // also where nothing leads to the end
    for (node_pointer const& node : order)
      if (trunk.contains(node.get()) && has_branch(*node)) branched.push_back(node);
  }

  // Cuts the trunk below its nodes with branches: nodes of no other use are freed.
  void cut(Edge const& input) const {
    for (node_pointer const& node : branched)
      for (Edge& e : node->next_edges())
        if (e.is_valid() && (trunk.contains(e.function.get()) || e.function == input.function)) e = {};
  }

 private:
  // Where there is no input, the trunk leads to the parameter furthest from the output.
  Node* deepest_parameter() const {
    std::unordered_map<Node*, int> depth;
    Node* deepest = nullptr;
    for (node_pointer const& node : order) {
      int const here = depth[node.get()];
      if (parameters.contains(node.get()) && (deepest == nullptr || here > depth[deepest]))
        deepest = node.get();
      for (Edge const& e : node->next_edges())
        if (e.is_valid()) depth[e.function.get()] = std::max(depth[e.function.get()], here + 1);
    }
    return deepest;
  }

  // All nodes that lead to the end; if that is a parameter, without those that lead to nothing else,
  // which are its branch.
  void find_trunk(Node* end, bool is_parameter) {
    std::unordered_set<Node*> leads{end}, only{end};
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      bool to_end = false, elsewhere = false;
      for (Edge const& e : (*node)->next_edges()) {
        if (!e.is_valid()) continue;
        to_end = to_end || leads.contains(e.function.get());
        elsewhere = elsewhere || !only.contains(e.function.get());
      }
      if (!to_end) continue;
      leads.insert(node->get());
      if (!elsewhere && is_parameter)
        only.insert(node->get());
      else
        trunk.insert(node->get());
    }
  }

  // Whether a node leads to a parameter beside the trunk.
  bool has_branch(Node const& node) const {
    std::unordered_set<Node*> seen;
    std::vector<Node*> ahead;
    auto const look = [&](Node const& at) {
      for (Edge const& e : at.next_edges())
        if (e.is_valid() && !trunk.contains(e.function.get()) && seen.insert(e.function.get()).second)
          ahead.push_back(e.function.get());
    };
    for (look(node); !ahead.empty();) {
      Node* const next = ahead.back();
      ahead.pop_back();
      if (parameters.contains(next)) return true;
      look(*next);
    }
    return false;
  }
};

parameter_list::parameter_list(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    leaves_.push_back(torch::autograd::impl::gradient_edge(parameters_[i]));
    hooks_.push_back(parameters_[i].register_hook(
        [this, i](at::Tensor const& gradient) { return open_sums::arrived(this, i, gradient); }));
  }
}
parameter_list::~parameter_list() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].remove_hook(hooks_[i]);
}

kept_graph::kept_graph(at::Tensor const& input, at::Tensor const& output,
                       parameter_list const& parameters)
    : parameters_(&parameters), root_(torch::autograd::impl::gradient_edge(output)) {
  if (input.defined()) input_ = torch::autograd::impl::gradient_edge(input);
}

at::Tensor kept_graph::backward(at::Tensor const& output_gradient, gradient_sums const& sums) {
  edge_list asked = parameters_->leaves();
  if (input_.is_valid()) asked.push_back(input_);
  open_sums to(*parameters_, sums);
  std::vector<at::Tensor> const found = run({root_}, {output_gradient}, false, asked);
  for (std::size_t p = 0; p < sums.size(); ++p) to.add_late(p, found[p]);
  at::Tensor const result = input_.is_valid() ? found.back() : at::Tensor();
  *this = {};
  return result;
}

at::Tensor kept_graph::backward_input(at::Tensor const& output_gradient) {
  division const of(root_, input_, parameters_->leaves());
  edge_list asked;
  for (node_pointer const& node : of.branched)
    for (std::uint32_t nr = 0; nr < node->num_inputs(); ++nr) asked.emplace_back(node, nr);
  std::size_t const count = asked.size();
  if (input_.is_valid()) asked.push_back(input_);
  std::vector<at::Tensor> const found = run({root_}, {output_gradient}, true, asked);
  for (std::size_t i = 0; i < count; ++i)
    if (found[i].defined()) {
      starts_.push_back(asked[i]);
      arrived_.push_back(found[i]);
    }
  of.cut(input_);
  root_ = {}, input_ = {};
  return found.size() > count ? found.back() : at::Tensor();
}

void kept_graph::backward_weight(gradient_sums const& sums) {
  open_sums to(*parameters_, sums);
  std::vector<at::Tensor> const found = run(starts_, arrived_, false, parameters_->leaves());
  for (std::size_t p = 0; p < sums.size(); ++p) to.add_late(p, found[p]);
  *this = {};
}

}  // namespace libtorch

// Compares the operators that the passes run. A backward that is split must run what the fused one runs,
// each once, and nothing of the forward again.
#include "kept_graph.hpp"
#include "transformer.hpp"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace libtorch;
using counts = std::map<std::string, int>;
counts seen;

// An operator that only views a tensor in another way, or makes room for one, is no work. A layer norm's
// backward is one operator for three gradients: each that it is asked for counts.
std::unique_ptr<at::ObserverContext> count(at::RecordFunction const& f) {
  auto const schema = f.operator_schema();
  if (!schema || schema->returns().empty()) return nullptr;
  c10::AliasInfo const* const alias = schema->returns()[0].alias_info();
  std::string name = f.name();
  if ((alias != nullptr && !alias->isWrite()) || name.find("empty") != name.npos) return nullptr;
  if (name.ends_with('_')) name.pop_back();  // in place or not: the engine decides by who keeps a sum
  if (name != "aten::native_layer_norm_backward") {
    ++seen[name];
    return nullptr;
  }
  static char const* const of[] = {" (input)", " (weight)", " (bias)"};
  c10::List<bool> const mask = f.inputs().back().toBoolList();
  for (std::size_t i = 0; i < 3; ++i)
    if (mask[i]) ++seen[name + of[i]];
  return nullptr;
}

template <class Act>
counts during(Act act) {
  seen.clear();
  at::CallbackHandle const handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  act();
  at::removeCallback(handle);
  return seen;
}

// A stage that uses a matrix twice, and one that makes a weight of two parameters.
struct unusual : torch::nn::Module {
  at::Tensor twice = register_parameter("twice", at::randn({32, 32}));
  at::Tensor direction = register_parameter("direction", at::randn({32, 32}));
  at::Tensor length = register_parameter("length", at::randn({32, 1}));
  at::Tensor unused = register_parameter("unused", at::randn({3}));
  at::Tensor forward(at::Tensor const& x) {
    at::Tensor const y = at::tanh(at::matmul(x, twice));
    return at::matmul(at::tanh(at::matmul(y, twice)), direction / direction.norm() * length);
  }
};

// Whether a stage's split backward gives the bits of the fused one with the same operators.
template <class Forward>
bool compare(char const* name, Forward forward, std::vector<at::Tensor> const& parameters,
             at::Tensor const& data, bool data_has_gradient, bool show) {
  parameter_list const list(parameters);
  gradient_sums together, apart;
  for (at::Tensor const& p : parameters) {
    together.push_back(at::zeros_like(p).detach());
    apart.push_back(at::zeros_like(p).detach());
  }
  auto const keep = [&](at::Tensor& g) {
    at::Tensor const x = data_has_gradient ? data.detach().clone().requires_grad_() : data;
    at::Tensor const y = forward(x);
    g = at::ones_like(y) / 7;
    return kept_graph(data_has_gradient ? x : at::Tensor(), y, list);
  };
  at::Tensor g;
  kept_graph whole = keep(g);
  at::Tensor input_at_once, input_gradient;
  counts const fused = during([&] { input_at_once = whole.backward(g, together); });
  kept_graph split = keep(g);
  counts const input = during([&] { input_gradient = split.backward_input(g); });
  counts const weight = during([&] { split.backward_weight(apart); });

  bool same = true;
  std::set<std::string> names;
  for (counts const* all : {&fused, &input, &weight})
    for (auto const& [op, n] : *all) names.insert(op);
  auto const of = [](counts const& all, std::string const& op) {
    auto const found = all.find(op);
    return found == all.end() ? 0 : found->second;
  };
  if (show) std::printf("%-40s %6s %6s %6s\n", name, "fused", "input", "weight");
  for (std::string const& op : names) {
    same = same && of(fused, op) == of(input, op) + of(weight, op);
    if (show)
      std::printf("%-40s %6d %6d %6d\n", op.c_str(), of(fused, op), of(input, op), of(weight, op));
  }
  bool bits = !data_has_gradient || input_gradient.equal(input_at_once);
  for (std::size_t i = 0; i < apart.size(); ++i) bits = bits && apart[i].equal(together[i]);
  std::printf("%s: %s, %s\n", name, same ? "each operator once" : "NOT the same operators",
              bits ? "the same bits" : "OTHER bits");
  return same && bits && weight.contains("aten::mm");
}

}  // namespace

int main() try {
  at::set_num_threads(1);
  transformer_config const shape;
  std::vector<torch::nn::Sequential> const stages = transformer_stages(shape, at::kDouble);
  at::Tensor const x = at::randn({shape.sequences, shape.length, shape.width});
  bool good = true;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    torch::nn::Sequential stage = stages[s];
    auto const forward = [&](at::Tensor const& in) { return stage->forward(in); };
    good = compare(("stage " + std::to_string(s)).c_str(), forward, stage->parameters(),
                   s == 0 ? text_of(shape, 0).first : x, s > 0, s < 2)
           && good;
  }
  unusual last;
  good = compare(
             "a matrix used twice", [&](at::Tensor const& in) { return last.forward(in); },
             last.parameters(), x, true, false)
         && good;
  return good ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

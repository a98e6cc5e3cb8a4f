// A model that predicts several next tokens: a trunk, and heads beside each other, each with its loss.
//
//                          ┌── 4
//                          ├── 5
//   0 ── 1 ── 2 ── 3 ──────┤            heads
//        trunk             ├── 6
//                          └── 7
//
// As stages of a graph, a micro-batch comes back after 5 stages, in a chain of the same eight after 8.
// The trunk's last backward waits for four gradients and adds them in the order of the heads, as one
// stage does that has all heads: whether losses are on one device or on four changes no bit of the
// weights.
#include <ashlar/ashlar.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/heads.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/run/sequential.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

using numbers = std::span<double>;
numbers as_numbers(buffer b) { return {reinterpret_cast<double*>(b.data()), b.size() / sizeof(double)}; }

constexpr std::size_t width = 10, trunk_layers = 4, heads = 4;

// Layers y = tanh(W x), all of the same width. A stage has one layer of the trunk, or some of the heads,
// which read the same x; the loss of head h is half the squared distance of y from the label h + 1
// places on.
class predictor {
 public:
  explicit predictor(std::vector<std::vector<std::size_t>> layers_of_stage)
      : stages_(std::move(layers_of_stage)),
        weights_(trunk_layers + heads),
        gradients_(weights_.size()) {
    for (std::size_t l = 0; l < weights_.size(); ++l)
      for (std::size_t i = 0; i < width * width; ++i)
        weights_[l].push_back(std::sin(1.0 + static_cast<double>(7 * l + 3 * i)) / width);
  }

  value_layout layout(value_key key) const {
    std::size_t const layers = of(key.kind == slot_kind::gradient ? key.to : key.of).size();
    std::size_t const count = key.kind == slot_kind::weight_gradient ? layers * width * width
                              : key.kind == slot_kind::stash         ? (1 + layers) * width
                              : key.kind == slot_kind::weight_stash  ? layers * width
                                                                     : width;
    return {.bytes = count * sizeof(double), .element = element_type::f64};
  }

  void forward(auto&, frame const& f) {
    numbers const x = as_numbers(f.stash).first(width), all = as_numbers(f.stash).subspan(width);
    for (std::size_t i = 0; i < width; ++i)
      x[i] = f.inputs.empty() ? sample(f.what.micro_batch, i) : as_numbers(f.inputs[0])[i];
    std::size_t at = 0;
    for (std::size_t const l : of(f.what.stage))
      for (std::size_t i = 0; i < width; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < width; ++j) sum += weights_[l][i * width + j] * x[j];
        all[at++] = std::tanh(sum);
      }
    for (port const& p : f.outputs) std::copy_n(all.begin(), width, as_numbers(p).begin());
  }
  void backward(auto&, frame const& f) {
    numbers const x = as_numbers(f.stash).first(width), all = as_numbers(f.stash).subspan(width);
    std::vector<double> dx(width, 0.0);
    std::size_t at = 0;
    for (std::size_t const l : of(f.what.stage)) {
      numbers const y = all.subspan(at * width, width), dy = as_numbers(f.weight_stash).first(width),
                    dw = as_numbers(f.weight_gradient).subspan(at++ * width * width, width * width);
      for (std::size_t i = 0; i < width; ++i) {
        double came = l < trunk_layers ? 0 : y[i] - label(l, f.what.micro_batch, i);
        for (port const& p : f.inputs) came += as_numbers(p)[i];  // of the readers, in their order
        dy[i] = came * (1 - y[i] * y[i]);
      }
      for (std::size_t i = 0; i < width; ++i)
        for (std::size_t j = 0; j < width; ++j) dw[i * width + j] += dy[i] * x[j];
      for (std::size_t j = 0; j < width; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += weights_[l][i * width + j] * dy[i];
        dx[j] += sum;
      }
    }
    for (port const& p : f.outputs) std::copy(dx.begin(), dx.end(), as_numbers(p).begin());
  }
  void reduced(auto&, parameter_frame const& f) {
    numbers const g = as_numbers(f.gradient);
    std::size_t at = 0;
    for (std::size_t const l : of(f.group)) {
      numbers const own = g.subspan(at++ * width * width, width * width);
      gradients_[l].assign(own.begin(), own.end());
    }
  }

  void descend(double rate) {
    for (std::size_t l = 0; l < weights_.size(); ++l)
      for (std::size_t i = 0; i < weights_[l].size(); ++i) weights_[l][i] -= rate * gradients_[l][i];
  }
  std::vector<std::vector<double>> const& weights() const { return weights_; }

 private:
  std::vector<std::size_t> const& of(int stage) const {
    return stages_[static_cast<std::size_t>(stage)];
  }
  static double sample(int k, std::size_t i) { return std::cos(1.3 * k + 0.7 * static_cast<double>(i)); }
  static double label(std::size_t layer, int k, std::size_t i) {
    return 0.5 * sample(k, i + 1 + layer - trunk_layers);
  }

  std::vector<std::vector<std::size_t>> stages_;
  std::vector<std::vector<double>> weights_, gradients_;
};
static_assert(worker<predictor>);

template <class Engine>
std::vector<std::vector<double>> train(program const& p, predictor model) {
  Engine engine(p, model);
  for (int step = 0; step < 10; ++step) {
    engine.run();
    model.descend(0.05);
  }
  return model.weights();
}

void print(char const* name, schedule const& s) {
  std::printf("%-16s  %7d  %5d  %8d ", name, s.device_count(), depth(s.graph),
              static_cast<int>(makespan(s)));
  for (int held : peak_activations(s)) std::printf(" %d", held);
  std::printf("\n");
}

}  // namespace

int main() {
  placement const eight = linear(devices{8}), five = linear(devices{5});
  micro_batches const m{16};
  schedule const apart =
      catalog::one_f_one_b(catalog::chain_with_heads(stages{trunk_layers}, heads), eight, m);
  std::vector<stage_cost> cost(trunk_layers, {1, 1, 1});
  cost.push_back({heads, heads, heads});
  schedule const together = catalog::one_f_one_b(chain(stages{5}), five, m, costs(cost));

  std::printf("heads             devices  depth  makespan  in flight\n");
  print("side by side", apart);
  print("in a chain", catalog::one_f_one_b(chain(stages{8}), eight, m));
  print("in one stage", together);

  predictor const split({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}),
      whole({{0}, {1}, {2}, {3}, {4, 5, 6, 7}});
  auto const weights = train<host::runtime<predictor>>(lower(apart), split);
  bool const same = weights == train<sequential>(lower(apart), split)
                    && weights == train<host::runtime<predictor>>(lower(together), whole);
  std::printf("%s\n", same ? "the same weights, bit by bit" : "different weights");
  return same ? 0 : 1;
}

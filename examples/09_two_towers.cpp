// A model with two branches, trained on threads as what it is: a graph of stages.
//
//   tower 0 (wide)     0 ── 1 ──┐
//                               4 (joint head)
//   tower 1 (narrow)   2 ── 3 ──┘
//
// Next to it the same stages one after another: each hands on what came to it beside what it made. Both
// give the bits of one thread. With "--measure" it prints how long a step takes if each pass waits for
// an accelerator: 2 ms forward, 4 ms backward.
#include <ashlar/ashlar.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/run/sequential.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

using numbers = std::span<double>;
numbers as_numbers(buffer b) { return {reinterpret_cast<double*>(b.data()), b.size() / sizeof(double)}; }

struct layer {
  int in, out;
  int tower;  // whose sample it starts with; -1: none
  int past;   // numbers that come in beside its own input, where stages form a chain
};

// y = tanh(W x) in each tower's stages and the head; the loss is half the squared distance of y from a
// sample's label. Of what comes in, the last numbers are the stage's own input.
class two_towers {
 public:
  two_towers(std::vector<layer> layers, std::chrono::milliseconds pass_time)
      : layers_(std::move(layers)), pass_time_(pass_time) {
    for (layer const& l : layers_) {
      weights_.emplace_back(static_cast<std::size_t>(l.in * l.out));
      gradients_.emplace_back(weights_.back().size(), 0.0);
      for (std::size_t i = 0; i < weights_.back().size(); ++i)
        weights_.back()[i] = std::sin(1.0 + static_cast<double>(7 * weights_.size() + 3 * i)) / l.in;
    }
  }

  value_layout layout(value_key key) const {
    layer const& l = of(key.kind == slot_kind::gradient ? key.to : key.of);
    int const count = key.kind == slot_kind::weight_gradient ? l.in * l.out
                      : key.kind == slot_kind::stash         ? l.past + l.in + l.out
                      : key.kind == slot_kind::weight_stash  ? l.out
                                                             : l.past + l.out;
    return {.bytes = static_cast<std::size_t>(count) * sizeof(double), .element = element_type::f64};
  }

  void forward(auto&, frame const& f) {
    std::this_thread::sleep_for(pass_time_);
    layer const& l = of(f.what.stage);
    numbers const stash = as_numbers(f.stash), x = stash.first(size(l.past + l.in)),
                  y = stash.last(size(l.out));
    std::size_t at = 0;
    for (port const& p : f.inputs)  // in the order of the stages: towers side by side
      for (double const each : as_numbers(p)) x[at++] = each;
    for (; at < x.size(); ++at) x[at] = sample(l.tower, f.what.micro_batch, at - size(l.past));
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = std::tanh(row(l, f.what.stage, i, x.last(size(l.in))));
    if (f.outputs.empty()) return;
    numbers const out = as_numbers(f.outputs[0]);
    std::copy(x.begin(), x.begin() + l.past, out.begin());
    std::copy(y.begin(), y.end(), out.begin() + l.past);
  }
  void backward(auto&, frame const& f) {
    std::this_thread::sleep_for(2 * pass_time_);
    layer const& l = of(f.what.stage);
    numbers const stash = as_numbers(f.stash), x = stash.subspan(size(l.past), size(l.in)),
                  y = stash.last(size(l.out)), dy = as_numbers(f.weight_stash);
    std::span<double const> const came = f.inputs.empty() ? numbers{} : as_numbers(f.inputs[0]);
    for (std::size_t i = 0; i < y.size(); ++i)
      dy[i] = (f.inputs.empty() ? y[i] - sample(2, f.what.micro_batch, i) : came[size(l.past) + i])
              * (1 - y[i] * y[i]);
    std::vector<double> dx(size(l.past + l.in), 0.0);
    for (std::size_t j = 0; j < size(l.past); ++j) dx[j] = came[j];
    std::vector<double> const& w = weights_[size(f.what.stage)];
    numbers const dw = as_numbers(f.weight_gradient);
    for (std::size_t j = 0; j < size(l.in); ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += w[i * size(l.in) + j] * dy[i];
      dx[size(l.past) + j] = sum;
    }
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t j = 0; j < size(l.in); ++j) dw[i * size(l.in) + j] += dy[i] * x[j];
    std::size_t at = 0;
    for (port const& p : f.outputs)  // a part of the gradient for each stage before
      for (double& each : as_numbers(p)) each = dx[at++];
  }
  void reduced(auto&, parameter_frame const& f) {
    numbers const g = as_numbers(f.gradient);
    gradients_[size(f.group)].assign(g.begin(), g.end());
  }

  void descend(double rate) {
    for (std::size_t s = 0; s < weights_.size(); ++s)
      for (std::size_t i = 0; i < weights_[s].size(); ++i) weights_[s][i] -= rate * gradients_[s][i];
  }
  std::vector<std::vector<double>> const& weights() const { return weights_; }

 private:
  static constexpr std::size_t size(int n) { return static_cast<std::size_t>(n); }
  layer const& of(int stage) const { return layers_[size(stage)]; }
  double row(layer const& l, int stage, std::size_t i, std::span<double const> x) const {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += weights_[size(stage)][i * size(l.in) + j] * x[j];
    return sum;
  }
  static double sample(int what, int k, std::size_t i) {
    return std::cos(what + 1.3 * k + 0.7 * static_cast<double>(i));
  }

  std::vector<layer> layers_;
  std::chrono::milliseconds pass_time_;
  std::vector<std::vector<double>> weights_, gradients_;
};
static_assert(worker<two_towers>);

constexpr int steps = 20, micro_batches_a_step = 8;

struct trained {
  std::vector<std::vector<double>> weights;
  double step_ms = 0;  // the median
};

template <class Engine>
trained train(program const& p, two_towers model) {
  Engine engine(p, model);
  std::vector<double> times;
  for (int step = 0; step < steps; ++step) {
    auto const begin = std::chrono::steady_clock::now();
    engine.run();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    model.descend(0.05);
  }
  std::nth_element(times.begin(), times.begin() + steps / 2, times.end());
  return {model.weights(), times[steps / 2]};
}

}  // namespace

int main(int argc, char** argv) {
  bool const measures = argc > 1 && std::string(argv[1]) == "--measure";
  int const wide = 12, narrow = 6;
  std::chrono::milliseconds const pass_time{measures ? 2 : 0};
  std::vector<layer> layers{{wide, wide, 0, 0},
                            {wide, wide, -1, 0},
                            {narrow, narrow, 1, 0},
                            {narrow, narrow, -1, 0},
                            {wide + narrow, 8, -1, 0}};
  stage_graph const towers(stages{5}, {{0, 1}, {1, 4}, {2, 3}, {3, 4}});
  auto const made = [](stage_graph const& graph) {
    return catalog::one_f_one_b(graph, linear(devices{5}), micro_batches{micro_batches_a_step});
  };
  schedule const graph = made(towers), line = made(chain(stages{5}));
  std::printf("as a graph: depth %d, makespan %d, in flight", depth(towers),
              static_cast<int>(makespan(graph)));
  for (int held : peak_activations(graph)) std::printf(" %d", held);
  std::printf("\nas a chain: depth 5, makespan %d, in flight", static_cast<int>(makespan(line)));
  for (int held : peak_activations(line)) std::printf(" %d", held);

  two_towers const model(layers, pass_time);
  layers[2].past = layers[3].past = wide;
  two_towers const one_after_another(layers, pass_time);
  trained const reference = train<sequential>(lower(graph), model);
  trained const as_graph = train<host::runtime<two_towers>>(lower(graph), model);
  trained const as_chain = train<host::runtime<two_towers>>(lower(line), one_after_another);
  bool const same = as_graph.weights == reference.weights && as_chain.weights == reference.weights;
  std::printf("\n%s\n", same ? "the same weights, bit by bit" : "different weights");
  if (measures)
    std::printf(
        "a step of %d micro-batches: %.2f ms as a graph, %.2f ms as a chain, %.2f ms on one thread\n",
        micro_batches_a_step, as_graph.step_ms, as_chain.step_ms, reference.step_ms);
  return same ? 0 : 1;
}

// Training with a model of one's own on the threads backend: a worker, which computes passes on the
// buffers that it is given. Schedules that accumulate gradients in the same order give the same bits.
#include <ashlar/ashlar.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

using namespace ashlar;

namespace {

constexpr std::size_t width = 8;
using vector = std::array<double, width>;
vector& as_vector(buffer b) { return *reinterpret_cast<vector*>(b.data()); }
constexpr std::size_t neighbour(std::size_t i) { return (i + 1) % width; }

// Stages y[i] = x[i] + tanh(w[i] x[i + 1]), to shift a ring of numbers. A micro-batch is one sample.
class shifter {
 public:
  shifter(int stage_count, int micro_batch_count)
      : weights_(static_cast<std::size_t>(stage_count), vector{}),
        gradients_(weights_),
        losses_(static_cast<std::size_t>(micro_batch_count), 0) {}

  // The worker's verbs. The queue is for those who compute elsewhere.
  value_layout layout(value_key key) const {  // the stash holds x and the tangents
    return {.bytes = (key.kind == slot_kind::stash ? 2 : 1) * sizeof(vector),
            .element = element_type::f64};
  }
  void forward(auto&, frame const& f) {
    vector const x = f.inputs.empty() ? sample(f.what.micro_batch) : as_vector(f.inputs[0]);
    vector& bent = as_vector(f.stash.subspan(sizeof(vector)));
    vector y = as_vector(f.stash) = x;
    for (std::size_t i = 0; i < width; ++i) y[i] += bent[i] = std::tanh(weights(f)[i] * x[neighbour(i)]);
    if (!f.outputs.empty()) as_vector(f.outputs[0]) = y;
  }
  void backward_input(auto&, frame const& f) {
    vector const &x = as_vector(f.stash), &bent = as_vector(f.stash.subspan(sizeof(vector)));
    vector dy{};
    if (f.inputs.empty()) {  // the last stage: half the squared distance to the shifted sample
      vector const from = sample(f.what.micro_batch);
      double& loss = losses_[static_cast<std::size_t>(f.what.micro_batch)] = 0;
      for (std::size_t i = 0; i < width; ++i) {
        dy[i] = x[i] + bent[i] - from[neighbour(i)];
        loss += dy[i] * dy[i] / 2;
      }
    } else {
      dy = as_vector(f.inputs[0]);
    }
    vector& slope = as_vector(f.weight_stash);
    for (std::size_t i = 0; i < width; ++i) slope[i] = dy[i] * (1 - bent[i] * bent[i]);
    if (f.outputs.empty()) return;
    vector& dx = as_vector(f.outputs[0]) = dy;
    for (std::size_t i = 0; i < width; ++i) dx[neighbour(i)] += weights(f)[i] * slope[i];
  }
  void backward_weight(auto&, frame const& f) {
    vector const &x = as_vector(f.stash), &slope = as_vector(f.weight_stash);
    for (std::size_t i = 0; i < width; ++i)
      as_vector(f.weight_gradient)[i] += slope[i] * x[neighbour(i)];
  }
  void backward(auto& q, frame const& f) { backward_input(q, f), backward_weight(q, f); }
  void reduced(auto&, parameter_frame const& f) {
    gradients_[static_cast<std::size_t>(f.group)] = as_vector(f.gradient);
  }

  // Plain gradient descent; the sum of the step's losses.
  double descend(double rate) {
    for (std::size_t s = 0; s < weights_.size(); ++s)
      for (std::size_t i = 0; i < width; ++i) weights_[s][i] -= rate * gradients_[s][i];
    return std::accumulate(losses_.begin(), losses_.end(), 0.0);
  }
  std::vector<vector> const& weights() const { return weights_; }

 private:
  vector const& weights(frame const& f) const {
    return weights_[static_cast<std::size_t>(f.what.stage)];
  }
  static vector sample(int k) {
    vector x{};
    for (std::size_t i = 0; i < width; ++i) x[i] = std::cos(k + 2.5 * static_cast<double>(i * (1 + i)));
    return x;
  }

  std::vector<vector> weights_, gradients_;
  std::vector<double> losses_;
};
static_assert(worker<shifter>);

template <class Engine>
std::vector<vector> train(char const* name, program const& p) {
  shifter model(p.stage_count(), p.micro_batch_count());
  Engine engine(p, model);
  std::printf("%-22s loss", name);
  for (int step = 0; step < 40; ++step) {
    engine.run();
    double const loss = model.descend(0.01);
    if (step == 0 || (step + 1) % 10 == 0) std::printf(" %8.4f", loss);
  }
  std::printf("\n");
  return model.weights();
}

}  // namespace

int main() {
  micro_batches const m{8};
  program const straight = catalog::one_f_one_b(devices{8}) | repeat(m) | squeeze() | lower();
  program const v = catalog::v_half(devices{4}) | repeat(m) | reorder() | lower();
  auto const reference = train<sequential>("one thread", straight);
  bool const same = train<host::runtime<shifter>>("1f1b, eight devices", straight) == reference
                    && train<host::runtime<shifter>>("v-half, four devices", v) == reference;
  std::printf("%s\n", same ? "the same weights, bit by bit" : "different weights");
  return same ? 0 : 1;
}

// A real network, small enough to run thousands of times: a worker for tests of engines and backends.
#pragma once

#include <ashlar/run/interpreter.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace test {

// Each stage computes y = tanh(W x), x the sum of its inputs; the loss of a micro-batch is |y|^2 / 2 at
// stages without successors. Optionally every pass first sleeps for a random moment, or calls a hook
// that may throw.
class small_network {
 public:
  static constexpr std::size_t width = 3;
  using vector = std::array<double, width>;
  using matrix = std::array<double, width * width>;

  small_network(int stages, int micro_batches)
      : weights_(static_cast<std::size_t>(stages)),
        gradients_(weights_.size()),
        reductions_(weights_.size(), 0),
        losses_(static_cast<std::size_t>(micro_batches), 0.0) {
    for (std::size_t s = 0; s < weights_.size(); ++s)
      for (std::size_t i = 0; i < weights_[s].size(); ++i)
        weights_[s][i] = std::sin(1.0 + 0.7 * static_cast<double>(i) + 1.3 * static_cast<double>(s));
  }

  std::function<void(ashlar::pass)> before_pass = [](ashlar::pass) {};
  std::function<void(int)> before_reduced = [](int) {};
  std::uint64_t delays = 0;   // a seed; 0: none
  int first_micro_batch = 0;  // of its data set: what micro-batch 0 is

  // What a step leaves behind. Equality is bit by bit.
  struct outcome {
    std::vector<matrix> gradients;
    std::vector<double> losses;
    friend bool operator==(outcome const&, outcome const&) = default;
  };
  outcome take() {
    outcome result{gradients_, losses_};
    for (auto& g : gradients_) g.fill(0);
    for (auto& l : losses_) l = 0;
    for (auto& n : reductions_) n = 0;
    return result;
  }
  matrix& weights(int stage) { return weights_[static_cast<std::size_t>(stage)]; }
  int reductions(int stage) const { return reductions_[static_cast<std::size_t>(stage)]; }

  // The worker.
  std::size_t bytes(ashlar::slot_kind kind, int) const {
    switch (kind) {
      case ashlar::slot_kind::stash:
        return 2 * sizeof(vector);
      case ashlar::slot_kind::weight_gradient:
        return sizeof(matrix);
      default:
        return sizeof(vector);
    }
  }

  void forward(ashlar::frame const& f) {
    enter(f.what);
    vector x{};
    if (f.inputs.empty())
      for (std::size_t i = 0; i < width; ++i)
        x[i] = std::cos(static_cast<double>(first_micro_batch + f.what.micro_batch)
                        + static_cast<double>(i));
    for (ashlar::buffer b : f.inputs)
      for (std::size_t i = 0; i < width; ++i) x[i] += as<vector>(b)[i];
    if (!f.checkpoint.empty()) as<vector>(f.checkpoint) = x;
    vector const y = compute(f, x);
    if (f.outputs.empty())
      losses_[static_cast<std::size_t>(f.what.micro_batch)] =
          (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]) / 2;
    else
      as<vector>(f.outputs[0]) = y;
  }
  void recompute(ashlar::frame const& f) {
    enter(f.what);
    compute(f, as<vector>(f.checkpoint));
  }
  void backward(ashlar::frame const& f) {
    input_gradient(f);
    weight_gradient(f);
  }
  void backward_input(ashlar::frame const& f) { input_gradient(f); }
  void backward_weight(ashlar::frame const& f) {
    enter(f.what);
    weight_gradient(f);
  }
  void accumulate(int, ashlar::buffer into, ashlar::buffer from) const {
    for (std::size_t i = 0; i < width * width; ++i) as<matrix>(into)[i] += as<matrix>(from)[i];
  }
  void reduced(int stage, ashlar::buffer gradient) {
    before_reduced(stage);
    std::lock_guard const lock(mutex_);
    gradients_[static_cast<std::size_t>(stage)] = as<matrix>(gradient);
    ++reductions_[static_cast<std::size_t>(stage)];
  }

 private:
  template <class T>
  static T& as(ashlar::buffer b) {
    return *reinterpret_cast<T*>(b.data());
  }

  // Gathered, if the program shards them.
  matrix const& weights_for(ashlar::frame const& f) {
    return f.weight.empty() ? weights(f.what.stage) : as<matrix>(f.weight);
  }

  vector compute(ashlar::frame const& f, vector const& x) {
    matrix const& w = weights_for(f);
    vector y{};
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < width; ++j) y[i] += w[i * width + j] * x[j];
      y[i] = std::tanh(y[i]);
    }
    auto& stash = as<std::array<vector, 2>>(f.stash);
    stash[0] = x;
    stash[1] = y;
    return y;
  }

  void input_gradient(ashlar::frame const& f) {
    enter(f.what);
    auto const& stash = as<std::array<vector, 2>>(f.stash);
    vector dy{};
    if (f.inputs.empty()) dy = stash[1];  // the loss is |y|^2 / 2
    for (ashlar::buffer b : f.inputs)
      for (std::size_t i = 0; i < width; ++i) dy[i] += as<vector>(b)[i];
    for (std::size_t i = 0; i < width; ++i) dy[i] *= 1 - stash[1][i] * stash[1][i];
    as<vector>(f.weight_stash) = dy;
    matrix const& w = weights_for(f);
    for (ashlar::buffer b : f.outputs) {
      vector dx{};
      for (std::size_t j = 0; j < width; ++j)
        for (std::size_t i = 0; i < width; ++i) dx[j] += w[i * width + j] * dy[i];
      as<vector>(b) = dx;
    }
  }

  void weight_gradient(ashlar::frame const& f) const {
    auto const& x = as<std::array<vector, 2>>(f.stash)[0];
    auto const& dy = as<vector>(f.weight_stash);
    auto& sum = as<matrix>(f.weight_gradient);
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) sum[i * width + j] += dy[i] * x[j];
  }

  void enter(ashlar::pass what) {
    before_pass(what);
    if (delays == 0) return;
    std::uint64_t h = delays
                      + 0x9e3779b97f4a7c15ULL
                            * (static_cast<std::uint64_t>(what.stage) * 977
                               + static_cast<std::uint64_t>(what.micro_batch) * 31
                               + static_cast<std::uint64_t>(what.kind) + 1);
    h ^= h >> 31;
    h *= 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 29;
    if (h % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(h / 4 % 300));
  }

  std::vector<matrix> weights_;
  std::vector<matrix> gradients_;
  std::vector<int> reductions_;
  std::vector<double> losses_;
  std::mutex mutex_;
};
static_assert(ashlar::worker<small_network>);

}  // namespace test

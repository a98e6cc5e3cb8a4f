// Definitions of network.hpp.
#pragma once

#include <ashlar/conformance/network.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/splitmix.hpp>

#include <array>
#include <chrono>
#include <thread>

namespace ashlar::conformance {

ASHLAR_INLINE network::network(program const& p)
    : network(p.stage_count(), p.micro_batch_count(), p.groups.shared().size()) {
  shared_of_.resize(weights_.size());
  std::size_t group = 0;
  for (std::vector<int> const& stages : p.groups.shared()) {
    for (std::size_t i = 0; i < width; ++i) shared_[group][i] = std::sin(2.0 + static_cast<double>(i));
    for (int stage : stages) nth(shared_of_, stage).push_back(group);
    ++group;
  }
  expect(p.work);
}

ASHLAR_INLINE std::span<double> network::parameters(int group) {
  auto const g = static_cast<std::size_t>(group);
  if (g < weights_.size()) return weights_[g];
  return shared_[g - weights_.size()];
}

ASHLAR_INLINE value_layout network::layout(value_key key) const {
  switch (key.kind) {
    case slot_kind::activation:
    case slot_kind::gradient:
      return {std::max(message_bytes, sizeof(vector)), 64, element_type::f64};
    case slot_kind::stash:
      return {2 * sizeof(vector), 64, element_type::f64};
    case slot_kind::micro_gradient:
    case slot_kind::weight_gradient:
      return {static_cast<std::size_t>(key.of) < weights_.size() ? sizeof(matrix) : sizeof(vector), 64,
              element_type::f64};
    default:
      return {sizeof(vector), 64, element_type::f64};
  }
}

ASHLAR_INLINE network::network(int stages, int micro_batches, std::size_t shared)
    : network_results(static_cast<std::size_t>(stages), shared, micro_batches),
      weights_(static_cast<std::size_t>(stages)),
      shared_(shared) {
  for (std::size_t s = 0; s < weights_.size(); ++s)
    for (std::size_t i = 0; i < weights_[s].size(); ++i)
      weights_[s][i] = std::sin(1.0 + 0.7 * static_cast<double>(i) + 1.3 * static_cast<double>(s));
}

ASHLAR_INLINE void network::add(vector& sum, buffer message) {
  if (std::memcmp(message.data(), message.data() + sizeof sum, message.size() - sizeof sum) != 0)
    throw std::runtime_error("a message is torn");
  for (std::size_t i = 0; i < width; ++i) sum[i] += as<vector>(message)[i];
}

ASHLAR_INLINE network_results::vector network::compute(frame const& f, vector x) {
  add_part_of(x, f.sequence_input, 1);
  matrix const& w = weights_for(f);
  vector y{};
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t j = 0; j < width; ++j) y[i] += w[i * width + j] * x[j];
    if (!shared_of_.empty())
      for (std::size_t g : nth(shared_of_, f.what.stage)) y[i] += shared_[g][i];
    y[i] = std::tanh(y[i]);
  }
  auto& stash = as<std::array<vector, 2>>(f.stash);
  stash[0] = x;
  stash[1] = y;
  return y;
}

ASHLAR_INLINE void network::input_gradient(frame const& f) {
  enter(f.what);
  auto const& stash = as<std::array<vector, 2>>(f.stash);
  vector dy{};
  if (f.inputs.empty()) dy = stash[1];  // the loss is |y|^2 / 2
  for (buffer b : f.inputs) add(dy, b);
  add_part_of(dy, f.sequence_input, 1);
  add_work(dy, f);
  for (std::size_t i = 0; i < width; ++i) dy[i] *= 1 - stash[1][i] * stash[1][i];
  as<vector>(f.weight_stash) = dy;
  matrix const& w = weights_for(f);
  vector dx{};
  for (std::size_t j = 0; j < width; ++j)
    for (std::size_t i = 0; i < width; ++i) dx[j] += w[i * width + j] * dy[i];
  for (buffer b : f.outputs) write(b, dx);
  if (!f.sequence_output.empty()) {
    add_part_of(dx, f.sequence_input, 0.5);
    as<vector>(f.sequence_output) = dx;
  }
}

ASHLAR_INLINE void network::weight_gradient(frame const& f) const {
  auto const& x = as<std::array<vector, 2>>(f.stash)[0];
  vector dy = as<vector>(f.weight_stash);
  if (f.what.kind == pass_kind::backward_weight) add_work(dy, f);
  auto& sum = as<matrix>(f.weight_gradient);
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j < width; ++j) sum[i * width + j] += dy[i] * x[j];
  for (buffer b : f.shared_gradients)
    for (std::size_t i = 0; i < width; ++i) as<vector>(b)[i] += dy[i];
}

ASHLAR_INLINE void network::enter(pass what) {
  before_pass(what);
  if (delays == 0) return;
  std::uint64_t const h = mixed(delays
                                + splitmix_step
                                      * (static_cast<std::uint64_t>(what.stage) * 977
                                         + static_cast<std::uint64_t>(what.micro_batch) * 31
                                         + static_cast<std::uint64_t>(what.kind) + 1));
  if (h % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(h / 4 % 300));
}

}  // namespace ashlar::conformance

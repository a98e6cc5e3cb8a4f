// The network for programs with sharded weights: one worker per data-parallel rank.
#pragma once

#include <ashlar/conformance/network.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/parameter_groups.hpp>

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

namespace ashlar::conformance {

// Rank q of r works on the micro-batches q·m … q·m + m−1 of a data set. It keeps the gradients that it
// is given, whole or its shard. It steps by plain descent, scaled by the norm of the gradients if it has
// been told the norm. All holders of a group share one memory.
class sharded_network : public network {
 public:
  sharded_network(program const& p, int rank);

  std::vector<std::vector<double>> const& gradients() const { return gradients_; }  // by group
  int steps(int group) const { return nth(steps_, group); }
  double norm() const {
    std::lock_guard const lock(mutex_);
    return norm_;
  }
  byte_range part() const { return part_; }
  // Whether other ranks have the rest of a group's gradient.
  bool is_sharded(std::size_t group) const { return sharded_ && group < stages_; }

  // Works as network::results().
  std::vector<double> results() const;
  void adopt(std::span<double const> all);
  // Prepares a step whose results are to be gathered.
  void forget();

  // The worker. Sharded, only this rank's shard of the weights is ever looked at.
  value_layout layout(value_key key) const {
    return key.kind == slot_kind::weight ? value_layout{sizeof(matrix), 64, element_type::f64}
                                         : network::layout(key);
  }
  buffer shard(int stage, int) {
    return std::as_writable_bytes(std::span(weights(stage))).subspan(part_.begin, part_.size);
  }
  void reduced(auto& q, parameter_frame const& f) {
    network::reduced(q, f);
    std::lock_guard const lock(mutex_);
    std::span<double const> const g = doubles(f.gradient);
    nth(gradients_, f.group).assign(g.begin(), g.end());
  }
  void measure(auto&, parameter_frame const& f) const {
    double& sum = doubles(f.scalar)[0] = 0;
    for (port const& p : f.gradients)
      for (double g : doubles(p.bytes)) sum += g * g;
  }
  void optimize(auto&, parameter_frame const& f) {
    double scale = 1;
    if (!f.scalar.empty()) {
      std::lock_guard const lock(mutex_);
      norm_ = doubles(f.scalar)[0];
      scale += norm_;
    }
    if (f.site.replica != 0) return;
    std::span<double const> const g = doubles(f.gradient);
    auto const group = static_cast<std::size_t>(f.group);
    std::size_t const begin = is_sharded(group) ? part_.begin / sizeof(double) : 0;
    double const rate = 0.1 / scale;
    for (std::size_t i = 0; i < g.size(); ++i) parameters(f.group)[begin + i] -= rate * g[i];
    ++steps_[group];
  }

 private:
  static std::span<double> doubles(buffer b) {
    return {reinterpret_cast<double*>(b.data()), b.size() / sizeof(double)};
  }
  std::size_t gradient_size(std::size_t group) const {
    return is_sharded(group) ? part_.size / sizeof(double) : parameters(static_cast<int>(group)).size();
  }

  std::size_t stages_;
  byte_range part_;
  bool sharded_;
  std::vector<std::vector<double>> gradients_;
  std::vector<int> steps_, steps_before_;
  double norm_ = 0;
  mutable std::mutex mutex_;
};
static_assert(worker<sharded_network>);

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/sharded_network.ipp>
#endif

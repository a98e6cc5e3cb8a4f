// small_network with what programs with shared weights need: a worker a data-parallel rank.
#pragma once

#include "small_network.hpp"
#include <ashlar/model/parameter_groups.hpp>

#include <cstddef>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

namespace test {

// Rank q of r works on the micro-batches q·m … q·m + m−1 of a data set. Keeps what it is given as
// gradients: the whole or its shard; steps by plain descent, scaled by the gradients' norm if it has
// been told. One memory for all replicas of a stage.
class sharded_network : public small_network {
 public:
  sharded_network(int stages, int micro_batches, int rank, int ranks, bool sharded)
      : small_network(stages, micro_batches),
        part_(ashlar::shard_of(sizeof(matrix), rank, ranks)),
        sharded_(sharded),
        gradients_(static_cast<std::size_t>(stages)),
        calls_(gradients_.size(), 0),
        steps_(gradients_.size(), 0) {
    first_micro_batch = rank * micro_batches;
  }

  std::vector<std::vector<double>> const& gradients() const { return gradients_; }
  int calls(int stage) const { return calls_[static_cast<std::size_t>(stage)]; }
  int steps(int stage) const { return steps_[static_cast<std::size_t>(stage)]; }
  double norm() const {
    std::lock_guard const lock(mutex_);
    return norm_;
  }
  ashlar::byte_range part() const { return part_; }

  // The worker. Sharded, only this rank's shard of the weights is ever looked at.
  std::size_t bytes(ashlar::slot_kind kind, int stage) const {
    return kind == ashlar::slot_kind::weight ? sizeof(matrix) : small_network::bytes(kind, stage);
  }
  ashlar::buffer shard(int stage, int) {
    return std::as_writable_bytes(std::span(weights(stage))).subspan(part_.begin, part_.size);
  }
  void accumulate(int, ashlar::buffer into, ashlar::buffer from) const {
    auto* const a = reinterpret_cast<double*>(into.data());
    auto const* const b = reinterpret_cast<double const*>(from.data());
    for (std::size_t i = 0; i < into.size() / sizeof(double); ++i) a[i] += b[i];
  }
  void reduced(int stage, ashlar::buffer gradient) {
    std::lock_guard const lock(mutex_);
    auto const* const g = reinterpret_cast<double const*>(gradient.data());
    gradients_[static_cast<std::size_t>(stage)].assign(g, g + gradient.size() / sizeof(double));
    ++calls_[static_cast<std::size_t>(stage)];
  }
  void optimize(int stage, int replica, ashlar::buffer gradient) {
    if (replica != 0) return;
    auto const* const g = reinterpret_cast<double const*>(gradient.data());
    std::size_t const begin = sharded_ ? part_.begin / sizeof(double) : 0;
    double const rate = 0.1 / (1 + norm());
    for (std::size_t i = 0; i < gradient.size() / sizeof(double); ++i)
      weights(stage)[begin + i] -= rate * g[i];
    ++steps_[static_cast<std::size_t>(stage)];
  }
  double squared_norm(int, ashlar::buffer gradient) const {
    auto const* const g = reinterpret_cast<double const*>(gradient.data());
    return std::inner_product(g, g + gradient.size() / sizeof(double), g, 0.0);
  }
  void statistics(double sum) {
    std::lock_guard const lock(mutex_);
    norm_ = sum;
  }

 private:
  ashlar::byte_range part_;
  bool sharded_;
  std::vector<std::vector<double>> gradients_;
  std::vector<int> calls_;
  std::vector<int> steps_;
  double norm_ = 0;
  mutable std::mutex mutex_;
};
static_assert(
    ashlar::worker<
        sharded_network> && ashlar::sharding_worker<sharded_network> && ashlar::optimizing_worker<sharded_network> && ashlar::measuring_worker<sharded_network>);

}  // namespace test

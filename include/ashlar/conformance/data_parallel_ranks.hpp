// The data-parallel ranks of a program, each with a worker of its own, and the state that they share.
#pragma once

#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/program/program.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::conformance {

// The workers of a program's ranks.
class data_parallel_ranks {
 public:
  explicit data_parallel_ranks(program const& p) {
    for (int rank = 0; rank < p.data_ranks; ++rank)
      all_.push_back(std::make_unique<sharded_network>(p, rank));
  }

  std::vector<sharded_network*> workers() const;
  void delay(std::uint64_t seed) {
    for (auto const& w : all_) w->delays = seed++;
  }

  // The whole gradient of a group: what every rank has, or their shards one after the other.
  std::vector<double> gradient(int group) const;
  // The whole weights, each shard from the rank that keeps it.
  std::vector<double> weights(int group) const;
  // Whether values that every rank has were the same on all ranks, whenever they were asked for.
  bool agrees() const { return agrees_; }
  void forget() const {
    for (auto const& w : all_) w->forget();
  }
  // Spoils the weights that a rank does not keep, because only its own may be looked at.
  void spoil() const;

 private:
  mutable bool agrees_ = true;
  std::vector<std::unique_ptr<sharded_network>> all_;
};

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/data_parallel_ranks.ipp>
#endif

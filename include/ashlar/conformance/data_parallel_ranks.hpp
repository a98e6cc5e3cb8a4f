// The data-parallel ranks of a program on workers of their own, and what they have together.
#pragma once

#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::conformance {

// The workers of a program's ranks.
class data_parallel_ranks {
 public:
  explicit data_parallel_ranks(program const& p) : sharded_(p.sharding != sharding_level::none) {
    for (int rank = 0; rank < p.data_ranks; ++rank)
      all_.push_back(std::make_unique<sharded_network>(p.stage_count(), p.micro_batch_count(), rank,
                                                       p.data_ranks, sharded_));
  }

  std::vector<sharded_network*> workers() const {
    std::vector<sharded_network*> list;
    for (auto const& w : all_) list.push_back(w.get());
    return list;
  }
  void delay(std::uint64_t seed) {
    for (auto const& w : all_) w->delays = seed++;
  }

  // The whole gradient of a stage: what every rank has, or their shards one behind the other.
  std::vector<double> gradient(int stage) const {
    std::vector<double> whole;
    for (auto const& w : all_) {
      auto const& g = w->gradients()[static_cast<std::size_t>(stage)];
      if (sharded_)
        whole.insert(whole.end(), g.begin(), g.end());
      else if (whole.empty())
        whole = g;
      else if (whole != g)
        agrees_ = false;
    }
    return whole;
  }
  // The whole weights, each shard from the rank that keeps it.
  std::vector<double> weights(int stage) const {
    std::vector<double> whole;
    for (auto const& w : all_) {
      auto const& mine = w->weights(stage);
      byte_range const part = sharded_ ? w->part() : byte_range{0, sizeof mine};
      if (!sharded_ && !whole.empty()) {
        agrees_ = agrees_ && whole == std::vector<double>(mine.begin(), mine.end());
        continue;
      }
      auto const* const first = mine.data() + part.begin / sizeof(double);
      whole.insert(whole.end(), first, first + part.size / sizeof(double));
    }
    return whole;
  }
  // Whether what every rank has was the same on all, whenever it was asked for.
  bool agrees() const { return agrees_; }
  void forget() const {
    for (auto const& w : all_) w->forget();
  }
  // Only what a rank keeps may be looked at: spoils the rest of its weights.
  void spoil() const {
    for (auto const& w : all_)
      for (std::size_t s = 0; s < w->gradients().size() && sharded_; ++s) {
        auto& all = w->weights(static_cast<int>(s));
        for (std::size_t i = 0; i < all.size(); ++i)
          if (i * sizeof(double) < w->part().begin
              || i * sizeof(double) >= w->part().begin + w->part().size)
            all[i] = 1e300;
      }
  }

 private:
  bool sharded_;
  mutable bool agrees_ = true;
  std::vector<std::unique_ptr<sharded_network>> all_;
};

}  // namespace ashlar::conformance

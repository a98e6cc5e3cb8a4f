// The data-parallel ranks of a program, each with a worker of its own, and what they hold together.
#pragma once

#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ashlar::conformance {

// The workers of a program's ranks.
class data_parallel_ranks {
 public:
  explicit data_parallel_ranks(program const& p) {
    for (int rank = 0; rank < p.data_ranks; ++rank)
      all_.push_back(std::make_unique<sharded_network>(p, rank));
  }

  std::vector<sharded_network*> workers() const {
    std::vector<sharded_network*> list;
    for (auto const& w : all_) list.push_back(w.get());
    return list;
  }
  void delay(std::uint64_t seed) {
    for (auto const& w : all_) w->delays = seed++;
  }

  // The whole gradient of a group: what every rank has, or their shards one after the other.
  std::vector<double> gradient(int group) const {
    std::vector<double> whole;
    for (auto const& w : all_) {
      auto const& g = nth(w->gradients(), group);
      if (w->is_sharded(static_cast<std::size_t>(group)))
        whole.insert(whole.end(), g.begin(), g.end());
      else if (whole.empty())
        whole = g;
      else if (whole != g)
        agrees_ = false;
    }
    return whole;
  }
  // The whole weights, each shard from the rank that keeps it.
  std::vector<double> weights(int group) const {
    std::vector<double> whole;
    for (auto const& w : all_) {
      std::span<double const> const mine = std::as_const(*w).parameters(group);
      bool const sharded = w->is_sharded(static_cast<std::size_t>(group));
      byte_range const part = sharded ? w->part() : byte_range{0, mine.size_bytes()};
      if (!sharded && !whole.empty()) {
        agrees_ = agrees_ && whole == std::vector<double>(mine.begin(), mine.end());
        continue;
      }
      auto const* const first = mine.data() + part.begin / sizeof(double);
      whole.insert(whole.end(), first, first + part.size / sizeof(double));
    }
    return whole;
  }
  // Whether values that every rank has were the same on all ranks, whenever they were asked for.
  bool agrees() const { return agrees_; }
  void forget() const {
    for (auto const& w : all_) w->forget();
  }
  // Spoils the weights that a rank does not keep, because only its own may be looked at.
  void spoil() const {
    for (auto const& w : all_)
      for (std::size_t s = 0; w->is_sharded(s); ++s) {
        auto& all = w->weights(static_cast<int>(s));
        for (std::size_t i = 0; i < all.size(); ++i)
          if (i * sizeof(double) < w->part().begin
              || i * sizeof(double) >= w->part().begin + w->part().size)
            all[i] = 1e300;
      }
  }

 private:
  mutable bool agrees_ = true;
  std::vector<std::unique_ptr<sharded_network>> all_;
};

}  // namespace ashlar::conformance

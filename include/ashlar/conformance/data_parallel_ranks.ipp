// Definitions of data_parallel_ranks.hpp.
#pragma once

#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace ashlar::conformance {

ASHLAR_INLINE std::vector<sharded_network*> data_parallel_ranks::workers() const {
  std::vector<sharded_network*> list;
  for (auto const& w : all_) list.push_back(w.get());
  return list;
}

ASHLAR_INLINE std::vector<double> data_parallel_ranks::gradient(int group) const {
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

ASHLAR_INLINE std::vector<double> data_parallel_ranks::weights(int group) const {
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

ASHLAR_INLINE void data_parallel_ranks::spoil() const {
  for (auto const& w : all_)
    for (std::size_t s = 0; w->is_sharded(s); ++s) {
      auto& all = w->weights(static_cast<int>(s));
      for (std::size_t i = 0; i < all.size(); ++i)
        if (i * sizeof(double) < w->part().begin
            || i * sizeof(double) >= w->part().begin + w->part().size)
          all[i] = 1e300;
    }
}

}  // namespace ashlar::conformance

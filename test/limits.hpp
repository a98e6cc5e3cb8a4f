// Limits for tests, from tables of what stages keep: one entry for all alike, or one each.
#pragma once

#include <ashlar/model/memory_model.hpp>

#include <cstddef>
#include <vector>

namespace limits {

using namespace ashlar;

constexpr memory_model sized(std::vector<byte_count> const& stash, std::vector<byte_count> const& left) {
  memory_model memory{.stages = {}};
  std::size_t const count = stash.size() > left.size() ? stash.size() : left.size();
  for (std::size_t i = 0; i < count; ++i)
    memory.stages.push_back(
        {.stash = stash[stash.size() == 1 ? 0 : i], .stash_left = left[left.size() == 1 ? 0 : i]});
  return memory;
}

constexpr memory_limit sized(std::vector<byte_count> const& budget, std::vector<byte_count> const& stash,
                             std::vector<byte_count> const& left) {
  return {.memory = sized(stash, left), .budget = budget};
}

// Makes these stages keep only this much until they recompute.
constexpr memory_limit recomputing(memory_limit limit, int stage_count,
                                   std::vector<int> const& recomputed, byte_count checkpoint) {
  limit.memory = ashlar::recomputing(limit.memory, stage_count, recomputed,
                                     [=](int, stage_memory const&) { return checkpoint; });
  return limit;
}

}  // namespace limits

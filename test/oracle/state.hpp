// Where a run of a program stands.
#pragma once

#include "oracle/meaning.hpp"

#include <cstdint>

namespace oracle {

struct content {
  tag value;
  unsigned bits = 0;  // reads to come; in an accumulator the micro-batches inside
  friend bool operator==(content const&, content const&) = default;
};
struct state {
  std::vector<std::uint8_t> at;  // by queue: how many have ended
  std::vector<content> slots;
  friend bool operator==(state const&, state const&) = default;
};
struct state_hash {
  std::size_t operator()(state const& s) const {
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    auto const mix = [&h](std::uint64_t v) { h = (h ^ v) * 0xff51afd7ed558ccdU, h ^= h >> 29; };
    for (std::uint8_t a : s.at) mix(a);
    for (content const& c : s.slots)
      mix(static_cast<std::uint64_t>(c.value.kind) << 56
          ^ static_cast<std::uint64_t>(c.value.stage) << 48
          ^ static_cast<std::uint64_t>(c.value.micro_batch) << 40
          ^ static_cast<std::uint64_t>(c.value.to) << 32 ^ c.bits);
    return h;
  }
};

}  // namespace oracle

// Random schedules, unlike any that people write.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <cstdint>
#include <random>

namespace ashlar::conformance {

namespace random_detail {

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace random_detail

// A schedule of a chain, with sequences whole or in chunks. Every schedule of a chain on one route can
// result.
schedule random_schedule(std::uint64_t seed, int sequence_chunks = 1);

// A schedule of stages of any sort: sources, sinks and edges anywhere, micro-batches of 1, 2 and 4
// units.
schedule random_graph_schedule(std::uint64_t seed);

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/random_schedule.ipp>
#endif

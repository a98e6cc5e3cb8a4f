// Who shares a stage's weights: its replicas within the pipeline, and data-parallel ranks, each of which
// runs the whole pipeline on other data.
#pragma once

#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// What the data-parallel ranks keep in shards, one each, instead of whole (the stages of ZeRO). Each
// level includes the ones before it.
enum class sharding_level : unsigned char {
  none,       // nothing: every rank has all weights, and gradients are all-reduced
  optimizer,  // optimizer state, and weights between steps: gathered once a step, gradients scattered
              // once
  gradients,  // gradients: a buffer is scattered whenever another stage needs it
  full,       // weights: gathered into a buffer whenever a pass needs them and they are not there
};

// When the gradients of a device are reduced.
enum class gradient_reduction : unsigned char {
  at_end,             // after its last pass
  eager,              // as soon as they are complete
  eager_middle_last,  // eagerly, except for the stages in the middle of the pipeline
};

// Whether a program ends with the optimizer's step.
enum class optimizer_step : unsigned char {
  none,              // left to the worker
  at_end,            // stage by stage, in the order of reduction, after the device's last pass
  after_statistics,  // the same, behind a reduction of gradient statistics over all devices and ranks
};

// The devices that hold a stage, each once, in the order of the routes: the order in which their
// gradients are summed. Routes that meet on one device share its weights.
constexpr std::vector<int> replicas(placement const& where, int stage) {
  std::vector<int> found;
  for (int route = 0; route < where.route_count(); ++route) {
    int const device = where.device_of(route, stage);
    bool known = false;
    for (int d : found) known = known || d == device;
    if (!known) found.push_back(device);
  }
  return found;
}

// A device's number among the replicas of a stage; -1 if it holds none.
constexpr int replica_of(placement const& where, int stage, int device) {
  std::vector<int> const all = replicas(where, stage);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] == device) return static_cast<int>(i);
  return -1;
}

// The stages that a device holds, each once, in the order of (route, stage): its chunks.
constexpr std::vector<int> chunks_of(placement const& where, int device) {
  std::vector<int> found;
  std::vector<char> known(static_cast<std::size_t>(where.stage_count()), 0);  // bool: not in clang 14
  for (int route = 0; route < where.route_count(); ++route)
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      if (where.device_of(route, stage) != device || known[static_cast<std::size_t>(stage)] != 0)
        continue;
      known[static_cast<std::size_t>(stage)] = 1;
      found.push_back(stage);
    }
  return found;
}

// Whether a stage is the middle one of a pipeline, or one of the middle two. There the two directions of
// a bidirectional pipeline meet: the devices that hold them compute longest without a gap, so that an
// early reduction finds nothing to hide behind.
constexpr bool is_middle(int stage, int stage_count) {
  int const off = 2 * stage - (stage_count - 1);
  return off >= -1 && off <= 1;
}

// A part of a buffer, in bytes.
struct byte_range {
  std::size_t begin = 0;
  std::size_t size = 0;

  friend constexpr bool operator==(byte_range const&, byte_range const&) = default;
};

// The shard of a buffer that one of the ranks keeps: nearly equal parts, in order of rank, cut at
// multiples of 8 bytes so that no element is cut.
constexpr byte_range shard_of(std::size_t bytes, int rank, int ranks) {
  std::size_t const words = bytes / 8, r = static_cast<std::size_t>(ranks),
                    q = static_cast<std::size_t>(rank);
  auto const cut = [&](std::size_t n) { return 8 * (words / r * n + words % r * n / r); };
  std::size_t const end = rank + 1 == ranks ? bytes : cut(q + 1);
  return {cut(q), end - cut(q)};
}

}  // namespace ashlar

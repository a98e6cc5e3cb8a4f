// Limits on memory in bytes, of which what always lies on a device takes its part first.
#pragma once

#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Bytes that a stage takes of its device.
struct stage_memory {
  std::int64_t resident = 0;  // all the time: weights, their gradient, optimizer state
  std::int64_t stash = 0;     // for each micro-batch, from its forward on
  std::int64_t left = all;    // what of that stays from the input to the weight pass

  static constexpr std::int64_t all = -1;
};

// What lies all the time on a device of the first route. `sizes`: one entry for all stages, or one each.
// O(stages).
constexpr std::int64_t resident_bytes(placement const& where, std::vector<stage_memory> const& sizes,
                                      int device) {
  std::int64_t sum = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    if (where.device_of(0, stage) == device)
      sum += sizes[sizes.size() == 1 ? 0 : static_cast<std::size_t>(stage)].resident;
  return sum;
}

// A limit on what passes keep: what is left of the bytes of each device. Messages between stages do not
// count. `of_device`: one entry for all devices, or one each; where less than nothing is left,
// check_feasible() says so. Throws violation: rule::tables_agree for tables of other lengths;
// rule::sizes_fit where something is negative or more of a stash stays than there is.
// O(devices * stages).
constexpr memory_limit limit_in_bytes(placement const& where, std::vector<stage_memory> const& sizes,
                                      std::vector<std::int64_t> const& of_device) {
  auto const must_fit = [](std::size_t given, int count) {
    if (given != 1 && given != static_cast<std::size_t>(count))
      throw violation{{.broken = rule::tables_agree, .number = static_cast<std::int64_t>(given)}};
  };
  must_fit(sizes.size(), where.stage_count());
  must_fit(of_device.size(), where.device_count());
  std::vector<std::int64_t> free, stashes, left;
  for (stage_memory const& s : sizes) {
    std::int64_t const stays = s.left == stage_memory::all ? s.stash : s.left;
    if (s.resident < 0 || stays < 0 || stays > s.stash)
      throw violation{{.broken = rule::sizes_fit, .number = s.resident < 0 ? s.resident : stays}};
    stashes.push_back(s.stash);
    left.push_back(stays);
  }
  for (int d = 0; d < where.device_count(); ++d)
    free.push_back(of_device[of_device.size() == 1 ? 0 : static_cast<std::size_t>(d)]
                   - resident_bytes(where, sizes, d));
  return {free, stashes, left};
}

}  // namespace ashlar

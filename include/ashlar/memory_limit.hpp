// What passes take of a device's memory and give back, and how much a device may hold.
#pragma once

#include <ashlar/diagnosis.hpp>
#include <ashlar/pass.hpp>
#include <ashlar/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// In any unit: chunk activations, bytes. Each table has one entry for all alike, or one a device (a
// stage).
struct memory_limit {
  std::vector<std::int64_t> of_device;
  std::vector<std::int64_t> activation = std::vector<std::int64_t>(1, 1);  // what a forward takes
  std::vector<std::int64_t> stash = activation;  // what of it stays from the input to the weight pass

  constexpr memory_limit(std::int64_t chunk_activations) : of_device(1, chunk_activations) {}
  constexpr memory_limit(std::vector<std::int64_t> each, std::vector<std::int64_t> activations,
                         std::vector<std::int64_t> stashes)
      : of_device(static_cast<std::vector<std::int64_t>&&>(each)),
        activation(static_cast<std::vector<std::int64_t>&&>(activations)),
        stash(static_cast<std::vector<std::int64_t>&&>(stashes)) {}

  constexpr std::int64_t on(int device) const { return entry(of_device, device); }

  // What more is held from the start of a pass on, or less from its end.
  constexpr std::int64_t change(pass what) const {
    switch (what.kind) {
      case pass_kind::forward:
        return entry(activation, what.stage);
      case pass_kind::backward:
        return -entry(activation, what.stage);
      case pass_kind::backward_input:
        return entry(stash, what.stage) - entry(activation, what.stage);
      case pass_kind::backward_weight:
        return -entry(stash, what.stage);
      default:
        return 0;
    }
  }

  friend constexpr bool operator==(memory_limit const&, memory_limit const&) = default;

 private:
  static constexpr std::int64_t entry(std::vector<std::int64_t> const& table, int index) {
    return table.size() == 1 ? table[0] : table[static_cast<std::size_t>(index)];
  }
};

// The least that a device can do with: one micro-batch at a time, which holds every stage of the device
// until its backwards. `used` counts as its activations do. O(stages).
constexpr std::int64_t smallest_limit(placement const& where, memory_limit const& used, int device) {
  std::int64_t most = 0;
  for (int route = 0; route < where.route_count(); ++route) {
    std::int64_t sum = 0;
    for (int stage = 0; stage < where.stage_count(); ++stage)
      if (where.device_of(route, stage) == device) sum += used.change({pass_kind::forward, stage, 0});
    most = sum > most ? sum : most;
  }
  return most;
}

// Whether each device may hold one micro-batch: rule::parameter_is_at_least with the smallest limit of
// the first device that may not; rule::tables_agree for tables of other lengths.
constexpr diagnosis is_feasible(placement const& where, memory_limit const& limit) {
  auto const fits = [](std::vector<std::int64_t> const& table, int count) {
    return table.size() == 1 || table.size() == static_cast<std::size_t>(count);
  };
  if (!fits(limit.of_device, where.device_count()))
    return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(limit.of_device.size())};
  for (auto const* table : {&limit.activation, &limit.stash})
    if (!fits(*table, where.stage_count()))
      return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(table->size())};
  for (int d = 0; d < where.device_count(); ++d)
    if (std::int64_t const least = smallest_limit(where, limit, d); limit.on(d) < least)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = d},
              .number = least,
              .which = parameter::activation_limit,
              .given = limit.on(d)};
  return {};
}

}  // namespace ashlar

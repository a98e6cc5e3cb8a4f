// What passes take of a device's memory and give back, and how much a device may hold.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/model/placement.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace ashlar {

// In any unit: chunk activations, bytes. Each table has one entry for all alike, or one a device (a
// stage).
struct memory_limit {
  std::vector<std::int64_t> of_device;
  std::vector<std::int64_t> activation = std::vector<std::int64_t>(1, 1);  // what a forward takes
  std::vector<std::int64_t> stash = activation;  // what of it stays from the input to the weight pass
  std::vector<std::int64_t> kept = activation;   // what of it stays from the forward to the recompute;
                                                 // less than all of it where a stage recomputes

  constexpr memory_limit(std::int64_t chunk_activations) : of_device(1, chunk_activations) {}
  constexpr memory_limit(std::vector<std::int64_t> each, std::vector<std::int64_t> activations,
                         std::vector<std::int64_t> stashes)
      : of_device(static_cast<std::vector<std::int64_t>&&>(each)),
        activation(static_cast<std::vector<std::int64_t>&&>(activations)),
        stash(static_cast<std::vector<std::int64_t>&&>(stashes)) {}
  constexpr memory_limit(std::vector<std::int64_t> each, std::vector<std::int64_t> activations,
                         std::vector<std::int64_t> stashes, std::vector<std::int64_t> checkpoints)
      : memory_limit(static_cast<std::vector<std::int64_t>&&>(each),
                     static_cast<std::vector<std::int64_t>&&>(activations),
                     static_cast<std::vector<std::int64_t>&&>(stashes)) {
    kept = static_cast<std::vector<std::int64_t>&&>(checkpoints);
  }

  constexpr std::int64_t on(int device) const { return entry(of_device, device); }
  constexpr std::int64_t activation_of(int stage) const { return entry(activation, stage); }
  constexpr std::array<std::int64_t, 2> parts_of(int stage) const {
    return {entry(stash, stage), entry(kept, stage)};
  }
  constexpr bool recomputes(int stage) const { return entry(kept, stage) < activation_of(stage); }

  // The least that is held of a stage's micro-batch at any time from the start of a forward (a
  // recompute) to the end of the weight pass (the input pass).
  constexpr std::int64_t least_held(int stage, pass_kind from, pass_kind to) const {
    std::int64_t least = entry(activation, stage);
    if (from == pass_kind::forward) least = min_of(least, entry(kept, stage));
    if (to == pass_kind::backward_weight) least = min_of(least, entry(stash, stage));
    return least;
  }

  // What more is held from the start of a pass on, or less from its end.
  constexpr std::int64_t change(pass what) const {
    switch (what.kind) {
      case pass_kind::forward:
        return entry(kept, what.stage);
      case pass_kind::recompute:
        return entry(activation, what.stage) - entry(kept, what.stage);
      case pass_kind::backward:
        return -entry(activation, what.stage);
      case pass_kind::backward_input:
        return entry(stash, what.stage) - entry(activation, what.stage);
      case pass_kind::backward_weight:
        return -entry(stash, what.stage);
      case pass_kind::work:
        break;
    }
    return 0;
  }

  friend constexpr bool operator==(memory_limit const&, memory_limit const&) = default;

  static constexpr std::int64_t entry(std::vector<std::int64_t> const& table, int index) {
    return table.size() == 1 ? table[0] : table[static_cast<std::size_t>(index)];
  }
};

// `recomputed` stages hold only `checkpoint` until recompute (one entry for all stages, or one each),
// all others everything. Throws violation{rule::every_pass_is_known} for a stage out of range.
constexpr memory_limit keeping(memory_limit limit, int stage_count, std::vector<int> const& recomputed,
                               std::vector<std::int64_t> const& checkpoint) {
  if (recomputed.empty()) return limit;
  limit.kept = limit.activation;
  limit.kept.resize(static_cast<std::size_t>(stage_count), limit.activation[0]);
  for (int stage : recomputed) {
    if (stage < 0 || stage >= stage_count)
      throw violation{{.broken = rule::every_pass_is_known,
                       .first = {.what = {.kind = pass_kind::recompute, .stage = stage}}}};
    limit.kept[static_cast<std::size_t>(stage)] = memory_limit::entry(checkpoint, stage);
  }
  return limit;
}

// The least that a device can do with: one micro-batch at a time (the q chunks of one sequence), which
// holds every stage of the device until its backwards; what recomputes takes all of its own only then.
// O(stages * sequence_chunks).
constexpr std::int64_t smallest_memory_limit(placement const& where, memory_limit const& used,
                                             int device, int sequence_chunks = 1) {
  std::int64_t most = 0;
  for (int route = 0; route < where.route_count(); ++route) {
    std::int64_t held = 0;
    auto const pass_through = [&](int stage, std::initializer_list<pass_kind> kinds) {
      if (where.device_of(route, stage) != device) return;
      for (pass_kind kind : kinds) most = max_of(most, held += used.change({kind, stage, 0}));
    };
    for (int chunk = 0; chunk < sequence_chunks; ++chunk)
      for (int stage = 0; stage < where.stage_count(); ++stage)
        pass_through(stage, {pass_kind::forward});
    for (int stage = where.stage_count() - 1; stage >= 0; --stage)
      for (int chunk = 0; chunk < sequence_chunks; ++chunk)
        pass_through(stage,
                     {pass_kind::recompute, pass_kind::backward_input, pass_kind::backward_weight});
  }
  return most;
}

// Whether each device may hold one micro-batch (the chunks of one sequence): rule::parameter_is_at_least
// with the smallest limit of the first device that may not; rule::tables_agree for tables of other
// lengths; rule::sizes_fit for a stash or checkpoint that is negative or more than the activation.
constexpr diagnosis check_feasible(placement const& where, memory_limit const& limit,
                                   int sequence_chunks = 1) {
  auto const fits = [](std::vector<std::int64_t> const& table, int count) {
    return table.size() == 1 || table.size() == static_cast<std::size_t>(count);
  };
  if (!fits(limit.of_device, where.device_count()))
    return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(limit.of_device.size())};
  for (auto const* table : {&limit.activation, &limit.stash, &limit.kept})
    if (!fits(*table, where.stage_count()))
      return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(table->size())};
  for (int stage = 0; stage < where.stage_count(); ++stage)
    for (std::int64_t part : limit.parts_of(stage))
      if (part < 0 || part > limit.activation_of(stage))
        return {.broken = rule::sizes_fit, .first = {.what = {.stage = stage}}, .number = part};
  for (int d = 0; d < where.device_count(); ++d)
    if (std::int64_t const least = smallest_memory_limit(where, limit, d, sequence_chunks);
        limit.on(d) < least)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = d},
              .number = least,
              .which = parameter::activation_limit,
              .given = limit.on(d)};
  return {};
}

}  // namespace ashlar

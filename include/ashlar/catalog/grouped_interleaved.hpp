// Grouped interleaving: on the looped placement g micro-batches take turns on the chunks of a device,
// with a split backward. Qi et al., Pipeline Parallelism with Controllable Memory (2024), appendix;
// Narayanan et al., Megatron-LM (2021), for g = p.
#pragma once

#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::catalog {

// Micro-batches of a group: as many as the shape says, else one for each device.
constexpr int close_group_of(shape const& s) { return s.group == 0 ? s.p.value : s.group; }

// Checks that a group is at least half of the devices, or its micro-batches wait for each other in a
// cycle; more than p only hold more.
constexpr diagnosis check_close_groups(shape const& s) {
  if (diagnosis const d = check_chunks(s); !d.ok()) return d;
  return all_of({at_least(parameter::group_size, close_group_of(s), s.p.value / 2 + s.p.value % 2),
                 at_most(parameter::group_size, close_group_of(s), s.p.value)});
}

// v chunks a device: 1/2 + 1/(2v) of the memory of 1F1B for g = ceil(p/2), all of it for g = p. Not the
// squeeze of a repeated block: the last group may be smaller than g, and a block of g micro-batches
// would tie the warm-up to whole groups. Orders only; starts are 0.
constexpr schedule grouped_interleaved(devices p, micro_batches m, chunks v, int group) {
  shape given{.p = p, .m = m, .v = v, .group = group};  // const, g++ 12 does not evaluate its costs
  must_be(check_close_groups(given));
  group = close_group_of(given);
  // Pairs (local chunk, micro-batch) in the order of the forwards; backwards go through the chunks in
  // reverse.
  struct place {
    int chunk = 0, micro_batch = 0;
  };
  dynamic_array<place> turns;
  for (int begin = 0; begin < m.value; begin += group)
    for (int chunk = 0; chunk < v.value; ++chunk)
      for (int k = begin; k < begin + group && k < m.value; ++k) turns.push_back({chunk, k});

  place const* const turn = turns.data();
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  schedule s = schedule_without_passes(looped(p, v), std::vector<int>(at(m.value), 0));
  for (int d = 0; d < p.value; ++d) {
    std::vector<time_slot>& order = s.order[at(d)];
    order = std::vector<time_slot>(3 * turns.size());
    time_slot* next = order.data();  // cheaper to evaluate while compiling than to push back
    int const ahead = (v.value - 1) * group + p.value - 1 - d, count = m.value * v.value;
    for (int i = 0; i < count + ahead; ++i) {
      if (i < count)
        (next++)->what = {pass_kind::forward, turn[i].chunk * p.value + d, turn[i].micro_batch};
      if (i < ahead) continue;
      auto const& [chunk, k] = turn[i - ahead];
      int const stage = (v.value - 1 - chunk) * p.value + d;
      (next++)->what = {pass_kind::backward_input, stage, k};
      (next++)->what = {pass_kind::backward_weight, stage, k};
    }
  }
  return s;
}

// Squeezed. Where groups do not divide the micro-batches there are two orders, of which the shorter one
// under these costs is taken: the published one, of whole groups without the micro-batches that there
// are not (sail-sg/zero-bubble-pipeline-parallelism, GroupBuildingBlockScheduler), and strict turns with
// a smaller last group. Devices may wait for each other in a cycle in the latter. Both hold the same.
constexpr schedule grouped_interleaved(shape const& s) {
  must_be(check_close_groups(s));
  int const group = close_group_of(s), missing = group - 1 - (s.m.value + group - 1) % group;
  schedule published = grouped_interleaved(s.p, micro_batches{s.m.value + missing}, s.v, group);
  if (missing != 0) published = take(static_cast<schedule&&>(published), s.m);
  published.cost = s.cost;
  published = squeeze(static_cast<schedule&&>(published));
  if (missing == 0) return published;
  schedule turns = grouped_interleaved(s.p, s.m, s.v, group);
  turns.cost = s.cost;
  if (!order_walk(turns).run().ok()) return published;
  turns = squeeze(static_cast<schedule&&>(turns));
  return makespan(turns) < makespan(published) ? turns : published;
}

}  // namespace ashlar::catalog

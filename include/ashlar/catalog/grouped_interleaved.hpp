// Grouped interleaving: on the looped placement g micro-batches take turns on the chunks of a device,
// with a split backward. Qi et al., Pipeline Parallelism with Controllable Memory (2024), appendix;
// Narayanan et al., Megatron-LM (2021), for g = p.
#pragma once

#include <ashlar/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// v chunks a device: 1/2 + 1/(2v) of the memory of 1F1B for g = ceil(p/2), all of it for g = p. Not the
// squeeze of a repeated block: the last group may be smaller than g, and a block of g micro-batches
// would tie the warm-up to whole groups. Orders only; starts are 0.
constexpr schedule grouped_interleaved(devices p, micro_batches m, chunks v, int group) {
  // (local chunk, micro-batch) in the order of the forwards; backwards go through the chunks in reverse.
  std::vector<std::pair<int, int>> turns;
  for (int begin = 0; begin < m.value; begin += group)
    for (int chunk = 0; chunk < v.value; ++chunk)
      for (int k = begin; k < begin + group && k < m.value; ++k) turns.push_back({chunk, k});

  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p.value));
  for (int d = 0; d < p.value; ++d) {
    std::vector<pass>& order = orders[static_cast<std::size_t>(d)];
    auto const forward = [&](std::size_t i) {
      order.push_back({pass_kind::forward, turns[i].first * p.value + d, turns[i].second});
    };
    auto const backward = [&](std::size_t i) {
      int const stage = (v.value - 1 - turns[i].first) * p.value + d;
      order.push_back({pass_kind::backward_input, stage, turns[i].second});
      order.push_back({pass_kind::backward_weight, stage, turns[i].second});
    };
    auto const ahead = static_cast<std::size_t>((v.value - 1) * group + p.value - 1 - d);
    for (std::size_t i = 0; i < turns.size() + ahead; ++i) {
      if (i < turns.size()) forward(i);
      if (i >= ahead) backward(i - ahead);
    }
  }
  return schedule_from_orders(looped(p, v), std::vector<int>(static_cast<std::size_t>(m.value), 0),
                              costs{}, orders);
}

}  // namespace ashlar::catalog

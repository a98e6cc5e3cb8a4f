// Combined 1F1B: interleaved 1F1B in which each forward of the steady state runs with the backward
// behind it as a pair, one computing while the other exchanges. NVIDIA: Megatron-Core, 2025,
// `overlap_moe_expert_parallel_comm`; Liu et al.: Scalable Training of MoE Models with Megatron Core
// (2026).
#pragma once

#include <ashlar/catalog/depth_first.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::catalog {

// Checks Megatron-Core's conditions: several chunks on each of several devices, or one device; the last
// group of micro-batches, if smaller, still fills the devices.
constexpr diagnosis check_combined(shape const& s) {
  if (diagnosis const d = check_groups(s); !d.ok()) return d;
  if (diagnosis const d = all_of({at_least(parameter::chunk_count, s.v.value, s.p.value == 1 ? 1 : 2),
                                  at_least(parameter::micro_batch_count, s.m.value, s.p.value)});
      !d.ok())
    return d;
  int const group = min_of(group_of(s), s.m.value), last = s.m.value % group;
  return last == 0 || last >= s.p.value ? diagnosis{}
                                        : multiple_of(parameter::micro_batch_count, s.m.value, group);
}

// The order of interleaved 1F1B with one forward more in the warm-up, so that the two passes of a turn
// never need each other: 2(p - 1 - d) + (v - 1) g + 1 forwards alone, then pairs, then backwards alone.
// Not the squeeze of a repeated block: the passes of a turn are one. Starts are 0.
constexpr schedule combined_one_f_one_b(shape const& s) {
  must_be(check_combined(s));
  schedule made = in_strict_turns(s, {}, pass_kind::backward, {.each_hop = 2, .more = 1});
  for (int d = 0; d < s.p.value; ++d) {
    std::vector<time_slot>& order = nth(made.order, d);
    std::size_t i = warm_up_of(s, d, {.each_hop = 2, .more = 1}), kept = i;
    for (; i + 1 < order.size() && order[i].what.kind == pass_kind::forward; i += 2)
      order[kept++] = {order[i].what, 0, order[i + 1].what};
    for (; i < order.size(); ++i) order[kept++] = order[i];
    while (order.size() > kept) order.pop_back();
  }
  return made;
}

}  // namespace ashlar::catalog

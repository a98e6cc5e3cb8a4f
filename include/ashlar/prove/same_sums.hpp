// Whether a program gives the same bits as another one, so that it may take its place between two
// steps.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/opcode.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/prove/tables.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

namespace prove_detail {

// The places in a device's stream of changes to the sum of each group's gradient, in order.
constexpr std::vector<std::vector<int>> steps_of_sums(program_view const& p, int device) {
  std::vector<std::vector<int>> all(static_cast<std::size_t>(p.groups.count()));
  list_view<instruction> const stream = p.stream(device);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    instruction const& self = stream[i];
    auto const add = [&](int group) { nth(all, group).push_back(static_cast<int>(i)); };
    if (self.code == opcode::compute && gives_weight_gradient(self.what.kind))
      for_each_group_of(p.groups, p.stage_count, self.what.stage, add);
    else if (self.code == opcode::reduce_scatter || sums_gradient(self))
      add(self.group);
  }
  return all;
}

}  // namespace prove_detail

// Whether every gradient is summed in the same order, also on other devices: the first holder of a group
// after the change adds what the first one before it added, and so on. Breaks rule::tables_agree for
// programs of other numbers of stages or micro-batches, rule::programs_share_alike, also for another
// number of holders, and rule::gradients_are_summed_in_the_same_order, with the first place of each on
// which they differ and the group as the number; or what check_tables says of either. A fused backward
// and a weight pass add the same.
// Linear in instructions and in devices times groups.
constexpr diagnosis check_same_sums(program_view const& before, program_view const& after) {
  if (after.stage_count != before.stage_count)
    return wrong_size(table::stages_of_placement, after.stage_count, before.stage_count);
  if (after.micro_batch_count != before.micro_batch_count)
    return wrong_size(table::micro_batches_of_schedule, after.micro_batch_count,
                      before.micro_batch_count);
  if (before.data_ranks != after.data_ranks || before.sharding != after.sharding
      || before.groups.count() != after.groups.count())
    return {.broken = rule::programs_share_alike};
  if (diagnosis const d = check_tables(before); !d.ok()) return d;
  if (diagnosis const d = check_tables(after); !d.ok()) return d;
  auto const all_steps = [](program_view const& p) {
    std::vector<std::vector<std::vector<int>>> all;  // by device, then group
    for (int d = 0; d < p.device_count; ++d) all.push_back(prove_detail::steps_of_sums(p, d));
    return all;
  };
  auto const was = all_steps(before), is = all_steps(after);
  auto const place = [](program_view const& p, int device, std::vector<int> const& steps,
                        std::size_t k) {
    if (k >= steps.size()) return site{.device = device};
    instruction const& i = nth(p.stream(device), steps[k]);
    return site{.device = device, .index = steps[k], .code = i.code, .what = i.what};
  };
  for (int g = 0; g < before.groups.count(); ++g) {
    list_view<int> const holders = before.groups.holders(g), others = after.groups.holders(g);
    if (holders.size() != others.size()) return {.broken = rule::programs_share_alike, .number = g};
    for (std::size_t h = 0; h < holders.size(); ++h) {
      std::vector<int> const& a = nth(nth(was, holders[h]), g);
      std::vector<int> const& b = nth(nth(is, others[h]), g);
      for (std::size_t k = 0; k < a.size() || k < b.size(); ++k) {
        site const first = place(after, others[h], b, k), second = place(before, holders[h], a, k);
        if (first.code != second.code || first.what.stage != second.what.stage
            || first.what.micro_batch != second.what.micro_batch
            || (first.index < 0) != (second.index < 0))
          return {.broken = rule::gradients_are_summed_in_the_same_order,
                  .first = first,
                  .second = second,
                  .number = g};
      }
    }
  }
  return {};
}

}  // namespace ashlar

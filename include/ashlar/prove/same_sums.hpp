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

// Breaks rule::tables_agree for programs of other numbers of devices, stages or micro-batches,
// rule::programs_share_alike, and rule::gradients_are_summed_in_the_same_order, with the first place of
// each on which they differ and the group as the number; or what check_tables says of either. A fused
// backward and a weight pass add the same.
// Linear in instructions and in devices times groups.
constexpr diagnosis check_same_sums(program_view const& before, program_view const& after) {
  if (after.device_count != before.device_count)
    return wrong_size(table::devices_of_placement, after.device_count, before.device_count);
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
  for (int d = 0; d < before.device_count; ++d) {
    std::vector<std::vector<int>> a = prove_detail::steps_of_sums(before, d);
    std::vector<std::vector<int>> b = prove_detail::steps_of_sums(after, d);
    auto const place = [&](program_view const& p, int index) {
      instruction const& i = nth(p.stream(d), index);
      return site{.device = d, .index = index, .code = i.code, .what = i.what};
    };
    for (std::size_t g = 0; g < a.size(); ++g)
      for (std::size_t k = 0; k < a[g].size() || k < b[g].size(); ++k) {
        site const was = k < a[g].size() ? place(before, a[g][k]) : site{.device = d};
        site const is = k < b[g].size() ? place(after, b[g][k]) : site{.device = d};
        if (was.code != is.code || was.what.stage != is.what.stage
            || was.what.micro_batch != is.what.micro_batch || (was.index < 0) != (is.index < 0))
          return {.broken = rule::gradients_are_summed_in_the_same_order,
                  .first = is,
                  .second = was,
                  .number = static_cast<std::int64_t>(g)};
      }
  }
  return {};
}

}  // namespace ashlar

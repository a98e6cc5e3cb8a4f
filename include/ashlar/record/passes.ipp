// Definitions of passes.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/record/passes.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace ashlar::record_detail {

// Integers are shapes, or pickled objects.
ASHLAR_INLINE bool carries_values(recorded_operation const& one) {
  if (one.kind != "send" && one.kind != "recv") return false;
  recorded_tensors const& all = one.inputs.dtypes.empty() ? one.outputs : one.inputs;
  if (all.dtypes.empty()) return false;
  std::string const& dtype = all.dtypes[0];
  return dtype.starts_with("Float") || dtype == "Half" || dtype == "BFloat16" || dtype == "Double";
}

// The values that the program sends from one device to another in a step, in order.
ASHLAR_INLINE std::map<std::pair<int, int>, std::vector<pass>> sends_of(program const& p) {
  std::map<std::pair<int, int>, std::vector<pass>> all;
  for (int d = 0; d < p.device_count(); ++d)
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i)
      if (instruction const& one = nth(p.instructions, i); one.code == opcode::send)
        all[{d, one.peer}].push_back(one.what);
  return all;
}

}  // namespace ashlar::record_detail

namespace ashlar {

ASHLAR_INLINE recorded_passes passes_of(matched_record const& record, program const& p) {
  using namespace record_detail;
  recorded_passes found;
  auto const planned = sends_of(p);
  std::vector<rank_record> const& ranks = *record.ranks;
  // A pair of devices of a group, with its transfers so far at each end.
  std::map<std::tuple<int, int, int, bool>, long long> counts;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    auto& of = found.of.emplace_back(ranks[r].operations.size());
    for (std::size_t u = 0; u < record.units[r].size(); ++u) {
      recorded_unit const& unit = record.units[r][u];
      recorded_group const& group = nth(record.groups, unit.group).group;
      auto const me = std::find(group.ranks.begin(), group.ranks.end(), ranks[r].rank);
      for (int const i : unit.operations) {
        recorded_operation const& one = nth(ranks[r].operations, i);
        if (!carries_values(one)) continue;
        if (!ranks[r].is_whole) {
          found.unknown = "the record of rank " + std::to_string(ranks[r].rank) + " has lost operations";
          return {{}, found.unknown};
        }
        if (static_cast<int>(group.ranks.size()) != p.device_count() || one.peer < 0) {
          found.unknown = "a group that sends values has " + std::to_string(group.ranks.size())
                          + " ranks, and the schedule " + std::to_string(p.device_count());
          return {{}, found.unknown};
        }
        int const device = static_cast<int>(me - group.ranks.begin());
        bool const sends = one.kind == "send";
        std::pair const link = sends ? std::pair(device, one.peer) : std::pair(one.peer, device);
        auto const messages = planned.find(link);
        if (messages == planned.end()) {
          found.unknown = "device " + std::to_string(link.first) + " sends values to device "
                          + std::to_string(link.second) + ", which it does not in the schedule";
          return {{}, found.unknown};
        }
        long long const number = counts[{unit.group, link.first, link.second, sends}]++;
        auto const in_a_step = static_cast<long long>(messages->second.size());
        nth(of, i) = {nth(messages->second, number % in_a_step), number / in_a_step};
      }
    }
  }
  return found;
}

}  // namespace ashlar

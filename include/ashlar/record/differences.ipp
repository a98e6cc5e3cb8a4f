// Definitions of differences.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/record/differences.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::record_detail {

// Bytes of PyTorch's element types.
ASHLAR_INLINE int bytes_of(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, int>, 16> known{{{"Float", 4},
                                                                    {"Double", 8},
                                                                    {"Half", 2},
                                                                    {"BFloat16", 2},
                                                                    {"Long", 8},
                                                                    {"Int", 4},
                                                                    {"Short", 2},
                                                                    {"Char", 1},
                                                                    {"Byte", 1},
                                                                    {"Bool", 1},
                                                                    {"ComplexHalf", 4},
                                                                    {"ComplexFloat", 8},
                                                                    {"ComplexDouble", 16},
                                                                    {"UInt16", 2},
                                                                    {"UInt32", 4},
                                                                    {"UInt64", 8}}};
  for (auto const& [name, bytes] : known)
    if (name == dtype) return bytes;
  return dtype.starts_with("Float8") ? 1 : 0;
}

ASHLAR_INLINE double elements_of(recorded_tensors const& all) {
  double sum = 0;  // exact up to 2^53, and larger tensors do not exist
  for (std::vector<long long> const& sizes : all.sizes) {
    double count = 1;
    for (long long const size : sizes) count *= static_cast<double>(size);
    sum += count;
  }
  return sum;
}

ASHLAR_INLINE recorded_tensors const& tensors_of(recorded_operation const& one) {
  return one.inputs.sizes.empty() ? one.outputs : one.inputs;
}

ASHLAR_INLINE bool differs(matched_record const& record, recorded_place one, recorded_place other) {
  if (!nth(nth(record.is_counted, one.record), one.operation)) return false;
  recorded_tensors const &a = tensors_of(record.at(one)), &b = tensors_of(record.at(other));
  if (a.dtypes.empty() || b.dtypes.empty()) return elements_of(a) != elements_of(b);
  int const x = bytes_of(a.dtypes[0]), y = bytes_of(b.dtypes[0]);
  if (x == 0 || y == 0) return a.dtypes[0] == b.dtypes[0] && elements_of(a) != elements_of(b);
  return elements_of(a) * x != elements_of(b) * y;
}

// The tensors that must be equal on all ranks of a collective.
enum class equal_part { nothing, inputs, outputs };
ASHLAR_INLINE equal_part equal_part_of(std::string_view kind) {
  constexpr std::array<std::string_view, 13> by_inputs{"all_reduce",
                                                       "allreduce_coalesced",
                                                       "broadcast",
                                                       "reduce",
                                                       "_all_gather_base",
                                                       "all_gather_into_tensor_coalesced",
                                                       "all_gather_single",
                                                       "_reduce_scatter_base",
                                                       "reduce_scatter_tensor_coalesced",
                                                       "reduce_scatter_single",
                                                       "_broadcast_oop",
                                                       "_reduce_oop",
                                                       "reduce_scatter"};
  if (std::find(by_inputs.begin(), by_inputs.end(), kind) != by_inputs.end()) return equal_part::inputs;
  return kind == "scatter" ? equal_part::outputs : equal_part::nothing;
}

ASHLAR_INLINE hang_kind difference_of(recorded_operation const& a, recorded_operation const& b) {
  if (a.kind != b.kind) return hang_kind::other_kind;
  if (a.kind.starts_with("barrier")) return hang_kind::none;
  equal_part const part = equal_part_of(a.kind);
  recorded_tensors const& x = part == equal_part::outputs ? a.outputs : tensors_of(a);
  recorded_tensors const& y = part == equal_part::outputs ? b.outputs : tensors_of(b);
  if (part != equal_part::nothing && elements_of(x) != elements_of(y)) return hang_kind::other_size;
  if (!x.dtypes.empty() && !y.dtypes.empty() && x.dtypes[0] != y.dtypes[0])
    return hang_kind::other_dtype;
  return hang_kind::none;
}

ASHLAR_INLINE record_difference find_difference(matched_record const& record,
                                                recorded_unit const& unit) {
  std::vector<std::pair<int, int>> const& there = record.collectives.at({unit.group, unit.sequence});
  bool const has_ended = std::all_of(there.begin(), there.end(), [&](auto const& at) {
    return nth(nth(record.units, at.first), at.second).state == recorded_state::completed;
  });
  if (has_ended) return {};
  auto const operations = [&](std::pair<int, int> at) -> std::vector<int> const& {
    return nth(nth(record.units, at.first), at.second).operations;
  };
  for (std::pair<int, int> const& at : there) {
    std::size_t const shared = std::min(operations(there[0]).size(), operations(at).size());
    for (std::size_t k = 0; k < shared; ++k) {
      recorded_place const one{there[0].first, operations(there[0])[k]},
          other{at.first, operations(at)[k]};
      hang_kind const kind = difference_of(record.at(one), record.at(other));
      if (kind != hang_kind::none) return {kind, one, other};
    }
    if (operations(there[0]).size() != operations(at).size())
      return {hang_kind::other_kind,
              {there[0].first, operations(there[0]).back()},
              {at.first, operations(at).back()}};
  }
  return {};
}

ASHLAR_INLINE int unit_in(matched_record const& record, int of, recorded_unit const& unit) {
  // They are in the order of the records.
  auto const& there = record.collectives.at({unit.group, unit.sequence});
  auto const found = std::lower_bound(there.begin(), there.end(), std::pair(of, 0));
  return found != there.end() && found->first == of ? found->second : -1;
}

ASHLAR_INLINE bool has_passed(matched_record const& record, int of, recorded_unit const& unit) {
  if (of >= 0) {
    if (unit_in(record, of, unit) >= 0) return true;
    auto const first = record.first_collective.find({of, unit.group});
    bool const began_later = first == record.first_collective.end() || first->second > unit.sequence;
    return began_later && !nth(*record.ranks, of).is_whole;
  }
  // Without a record of it: the rank has come where the collective has ended, or where its end is not
  // recorded and the rank that is asked has issued something since.
  for (auto const& [r, u] : record.collectives.at({unit.group, unit.sequence})) {
    recorded_unit const& one = nth(nth(record.units, r), u);
    if (one.state == recorded_state::completed) return true;
    if (one.state == recorded_state::unknown && u + 1 < static_cast<int>(nth(record.units, r).size()))
      return true;
  }
  return false;
}

}  // namespace ashlar::record_detail

// Which parameter groups a device holds.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/model/parameter_groups.hpp>

#include <cstddef>

namespace ashlar {

// The parameter groups that each device holds, ascending. Linear in devices and holders: the alternative
// is to ask every device about every group.
class held_groups {
 public:
  constexpr held_groups(group_view const& groups, int device_count)
      : begin_(static_cast<std::size_t>(device_count) + 2, 0) {
    for (int group = 0; group < groups.count(); ++group)
      for (int d : groups.holders(group)) ++begin_[static_cast<std::size_t>(d) + 2];
    for (std::size_t d = 2; d < begin_.size(); ++d) begin_[d] += begin_[d - 1];
    group_ = dynamic_array<int>(begin_.back());
    for (int group = 0; group < groups.count(); ++group)
      for (int d : groups.holders(group)) group_[begin_[static_cast<std::size_t>(d) + 1]++] = group;
  }

  constexpr list_view<int> of(int device) const {
    auto const d = static_cast<std::size_t>(device);
    return {group_.data() + begin_[d], group_.data() + begin_[d + 1]};
  }

 private:
  dynamic_array<std::size_t> begin_;  // by device, the end, and one more for counting
  dynamic_array<int> group_;
};

}  // namespace ashlar

// The parameter groups of a device.
#pragma once

#include <ashlar/core/lists.hpp>
#include <ashlar/model/parameter_groups.hpp>

#include <cstddef>

namespace ashlar {

// The parameter groups that each device holds, ascending. Linear in devices and holders: the alternative
// is to ask every device about every group.
constexpr lists<int> held_groups(group_view const& groups, int device_count) {
  return {static_cast<std::size_t>(device_count), [&](auto add) {
            for (int group = 0; group < groups.count(); ++group)
              for (int device : groups.holders(group)) add(device, group);
          }};
}

}  // namespace ashlar

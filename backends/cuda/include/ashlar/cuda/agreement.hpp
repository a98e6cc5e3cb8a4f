// Checks that all processes of a group have the same version, program and layouts.
#pragma once

#include <ashlar/cuda/options.hpp>
#include <ashlar/cuda/process_group.hpp>
#include <ashlar/run/device_status.hpp>
#include <ashlar/run/identity.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace ashlar::cuda {

// Called by all processes. Throws refused, naming two sides, unless all have the same identity; stalled
// when a process does not come within the deadline.
inline void require_same(process_group& group, program_view const& p, identity const& mine,
                         std::chrono::milliseconds deadline) {
  std::vector<std::byte> bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  std::vector<std::byte> const all = group.gather_all(bytes, deadline);
  for (int n = 0; n < group.size(); ++n) {
    identity its;
    std::memcpy(&its, all.data() + static_cast<std::size_t>(n) * sizeof its, sizeof its);
    if (its != mine)
      throw refused("the processes do not run the same: "
                    + name_of_device(p, group.devices().front().number) + " has " + to_string(mine)
                    + "; " + name_of_device(p, n) + " has " + to_string(its));
  }
}

}  // namespace ashlar::cuda

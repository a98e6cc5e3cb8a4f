// Replicas of a stage and the reduction of their gradients.
#pragma once

#include <ashlar/placement.hpp>

#include <vector>

namespace ashlar {

// The devices that hold a stage, each once, in the order of the routes: the order in which their
// gradients are summed. Routes that meet on one device share its weights.
constexpr std::vector<int> replicas(placement const& where, int stage) {
  std::vector<int> found;
  for (int route = 0; route < where.route_count(); ++route) {
    int const device = where.device_of(route, stage);
    bool known = false;
    for (int d : found) known = known || d == device;
    if (!known) found.push_back(device);
  }
  return found;
}

}  // namespace ashlar

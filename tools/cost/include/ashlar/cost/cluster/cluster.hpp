// The devices of a run.
#pragma once

#include <ashlar/cost/cluster/machine.hpp>

namespace ashlar::cost {

// Devices of one kind, whose `per_node` form a node.
struct cluster {
  machine device;
  int devices = 1;

  friend constexpr bool operator==(cluster const&, cluster const&) = default;
};

// Devices that share one fast link.
int domain_of(cluster const& c);

// Whether they are on more than one node.
constexpr bool has_several_nodes(cluster const& c) { return c.devices > c.device.per_node; }

}  // namespace ashlar::cost

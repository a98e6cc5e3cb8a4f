// The devices of a run: nodes of one kind or several, and the links between them.
#pragma once

#include <ashlar/cost/cluster/machine.hpp>

#include <string>
#include <utility>
#include <vector>

namespace ashlar::cost {

// Devices of one kind, whose `per_node` form a node. Links inside a node and between its nodes are those
// of its data sheet.
struct device_kind {
  machine device;
  int devices = 1;
  std::string name = {};  // of the kind, for messages

  friend bool operator==(device_kind const&, device_kind const&) = default;
};

// Kinds of devices on links.
struct cluster {
  // Devices are numbered kind after kind, so that a pipeline begins on the first kind.
  std::vector<device_kind> kinds = std::vector<device_kind>(1);
  // Bytes a second of a device in each direction to a device of another kind; 0: as fast as the slower
  // of both reaches its other nodes.
  double between_kinds = 0;

  cluster() = default;
  // A cluster of one kind.
  cluster(machine const& device, int devices, std::string name = {})
      : kinds(1, {device, devices, std::move(name)}) {}

  bool has_several_kinds() const { return kinds.size() > 1; }
  // The device of a cluster of one kind; of several, see ranks_of_kinds().
  machine const& device() const { return kinds.front().device; }
  machine& device() { return kinds.front().device; }
  int device_count() const;

  friend bool operator==(cluster const&, cluster const&) = default;
};

// Nodes of the cluster; a node that is not full counts with its share.
double node_count(cluster const& c);

// Whether the devices are on more than one node.
bool has_several_nodes(cluster const& c);

// Devices of the first kind that share one fast link.
int domain_of(cluster const& c);

// Operations per second of products in this format, on average over the devices.
double mean_peak(cluster const& c, number_format f);

// Whether the data sheets of all kinds describe their hosts.
bool knows_hosts(cluster const& c);

// Every order of every subset of this many kinds, shorter ones first; of subsets, that of ascending
// kinds first. 4 kinds have 64.
std::vector<std::vector<int>> orders_of_kinds(int kind_count);

// The cluster of these kinds alone, in this order.
cluster of_kinds(cluster const& c, std::vector<int> const& kinds);

// The device of the newest generation, for which training programs are chosen.
machine const& newest_of(cluster const& c);

// These kinds, in the cluster's order, as one: devices that wait for each other are as fast as the
// slowest in each figure, and hold as much as the smallest. They reach each other over the link between
// kinds.
cluster slowest_of(cluster const& c, std::vector<int> const& kinds);

}  // namespace ashlar::cost

// Data sheets of machines by name, and clusters of them.
#pragma once

#include "files/json_files.hpp"
#include <ashlar/cost/cluster/json_machine.hpp>
#include <ashlar/cost/cluster/machine.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tool {

using machine_sheet = ashlar::json_machine;

// The kinds in the program's own files.
std::vector<machine_sheet> const& known_machines();

// Finds a kind by any of its names, in any case. Throws usage_error if it is not known.
machine_sheet const& sheet_named(std::string_view kind);

struct machine_cluster {
  std::string name;
  int nodes = 1;
  ashlar::cost::machine machine;  // with the devices of a node

  int device_count() const { return nodes * machine.per_node; }
};

// Whether devices and links have the figures of the kind with this name.
bool is_of_kind(ashlar::cost::machine const& m, std::string const& kind);

// Reads NODESxDEVICESxKIND, DEVICESxKIND for one node, or a file with "nodes" and the keys of a data
// sheet. Throws usage_error.
machine_cluster read_machine_cluster(std::string const& text);

// Reads the data sheet with "nodes" that a file holds. Throws usage_error.
machine_cluster machine_cluster_in(json_text const& sheet);

// 16x8xH100; empty where devices or links do not have the figures of that kind.
std::string word_of(machine_cluster const& cluster);

}  // namespace tool

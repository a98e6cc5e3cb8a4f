// Data sheets of machines by name, and clusters of them.
#pragma once

#include <ashlar/interop/json_machine.hpp>
#include <ashlar/predict/machine.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tool {

using machine_sheet = ashlar::json_machine;

// Of the program's own files.
std::vector<machine_sheet> const& known_machines();

// By any of its names, in any case. Throws usage_error where no such kind is known.
machine_sheet const& sheet_named(std::string_view kind);

struct machine_cluster {
  std::string name;
  int nodes = 1;
  ashlar::predict::machine machine;  // with the devices of a node

  int device_count() const { return nodes * machine.per_node; }
};

// Whether devices and links have the figures of the kind that is called so.
bool is_of_kind(ashlar::predict::machine const& m, std::string const& kind);

// NODESxDEVICESxKIND, DEVICESxKIND for one node, or a file with "nodes" and the keys of a data sheet.
// Throws usage_error.
machine_cluster read_machine_cluster(std::string const& text);

}  // namespace tool

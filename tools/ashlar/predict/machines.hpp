// Data sheets of machines by name, and clusters of them.
#pragma once

#include "files/json_files.hpp"
#include <ashlar/cost/cluster/cluster.hpp>
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

// Whether devices and links have the figures of the kind with this name.
bool is_of_kind(ashlar::cost::machine const& m, std::string const& kind);

// Reads NODESxDEVICESxKIND, or DEVICESxKIND for one node; several of these with + between; or a file
// (docs/formats.md): a data sheet with "nodes", or kinds with their figures. Throws usage_error.
ashlar::cost::cluster read_cluster(std::string const& text);

// The cluster as it would be asked for: "2x8xH100+2x8xA100-80".
std::string name_of(ashlar::cost::cluster const& c);

// Reads such a file's text. Throws usage_error.
ashlar::cost::cluster cluster_in(json_text const& text);

// 16x8xH100; empty where devices or links do not have the figures of these kinds.
std::string word_of(ashlar::cost::cluster const& c);

}  // namespace tool

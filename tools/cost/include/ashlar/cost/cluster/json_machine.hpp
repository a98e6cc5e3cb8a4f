// Data sheets of machines, and clusters of them, as JSON.
#pragma once

#include <ashlar/cost/cluster/machine.hpp>
#include <ashlar/interop/json_text.hpp>

#include <string>
#include <vector>

namespace ashlar {

// A data sheet from a file.
struct json_machine {
  std::string name = {};                // empty: the file says none
  std::vector<std::string> names = {};  // other common names
  cost::machine machine = {};
};

// A cluster of identical nodes.
struct json_cluster {
  json_machine sheet = {};
  int nodes = 1;
};

// Reads a data sheet. Figures are numbers, or objects with a value and its source (docs/predict.md).
// Throws input_error, with line, column and key, if it is none, and for unknown keys.
json_machine read_json_machine(json_text const& source);

// Reads a data sheet with "nodes".
json_cluster read_json_cluster(json_text const& source);

// Writes a cluster as read_json_cluster reads it, without sources; figures of 0 are left out.
nlohmann::ordered_json json_of(json_cluster const& cluster);

// These read a text. `path` is its name in messages.
json_machine read_json_machine(std::string text, std::string path = {});
json_cluster read_json_cluster(std::string text, std::string path = {});

}  // namespace ashlar

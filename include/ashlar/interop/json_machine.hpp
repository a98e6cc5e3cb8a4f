// Data sheets of machines, and clusters of them, as JSON.
#pragma once

#include <ashlar/interop/json_text.hpp>
#include <ashlar/predict/machine.hpp>

#include <string>
#include <vector>

namespace ashlar {

// A data sheet as a file has it.
struct json_machine {
  std::string name = {};                // empty: the file says none
  std::vector<std::string> names = {};  // that people also write
  predict::machine machine = {};
};

// A cluster of nodes that are alike.
struct json_cluster {
  json_machine sheet = {};
  int nodes = 1;
};

// A data sheet: figures are numbers, or objects with a value and its source (docs/predict.md). Throws
// input_error, with line, column and key, for what is none, and for keys that mean nothing in one.
json_machine read_json_machine(json_text const& source);

// The same with "nodes".
json_cluster read_json_cluster(json_text const& source);

// `path`, of the file or whatever the text shall be called, is for messages.
json_machine read_json_machine(std::string text, std::string path = {});
json_cluster read_json_cluster(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_machine.ipp>
#endif

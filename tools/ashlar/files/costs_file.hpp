// The argument of --costs: a file that `ashlar profile` writes, or traces of PyTorch's profiler.
#pragma once

#include <ashlar/interop/json_costs.hpp>

#include <string>

namespace tool {

struct costs_file : ashlar::json_costs {
  std::string path = {};
};

// Reads a file or a folder of traces; guesses are told on standard error. Throws usage_error, with the
// place, if it is no such file.
costs_file read_costs(std::string const& path);

}  // namespace tool

// What --costs names: a file that `ashlar profile` writes, or traces of PyTorch's profiler.
#pragma once

#include <ashlar/interop/json_costs.hpp>

#include <string>

namespace tool {

struct costs_file : ashlar::json_costs {
  std::string path = {};
};

// A file or a folder of traces; what had to be guessed of them is told on standard error. Throws
// usage_error, with the place, for what is no such file.
costs_file read_costs(std::string const& path);

}  // namespace tool

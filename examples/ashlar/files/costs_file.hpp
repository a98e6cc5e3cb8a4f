// The file of --costs, which `ashlar profile` writes.
#pragma once

#include <ashlar/interop/json_costs.hpp>

#include <string>

namespace tool {

struct costs_file : ashlar::json_costs {
  std::string path = {};
};

// Throws usage_error, with the place, for what is no such file.
costs_file read_costs(std::string const& path);

}  // namespace tool

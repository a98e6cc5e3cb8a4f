// Timelines in the Trace Event Format, as `train --trace` and `simulate --as trace` write them, and
// steps that PyTorch's profiler saw: a file, or a folder with one of each rank.
#pragma once

#include <ashlar/interop/json_trace.hpp>

#include <string>

namespace tool {

struct trace_file : ashlar::json_trace {
  std::string path = {};
};

// Throws usage_error, with the place, if it is no such file or has no pass.
trace_file read_trace(std::string const& path);

}  // namespace tool

// Timelines in the Trace Event Format, as `train --trace` and `simulate --as trace` write them.
#pragma once

#include <ashlar/core/pass.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// Something that lasted, in nanoseconds since the timeline's first pass began.
struct trace_event {
  int device = 0, lane = 0;
  std::string name;
  std::int64_t start = 0, end = 0;
  std::optional<ashlar::pass> what;  // of a pass
};

struct trace_file {
  std::string path;
  std::vector<trace_event> events;
  int device_count = 0;
};

// Throws usage_error, with the place, for what is no such file, and for one without a pass.
trace_file read_trace(std::string const& path);

}  // namespace tool

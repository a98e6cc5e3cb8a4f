// A measured timeline beside the planned one, and the causes of the difference.
#pragma once

#include "files/trace_file.hpp"
#include <ashlar/study/timeline_difference.hpp>

#include <string>
#include <vector>

namespace tool {

struct trace_comparison {
  trace_file measured, planned;
  std::vector<ashlar::paired_pass> passes = {};
  std::vector<ashlar::path_difference> path = {};   // from the first pass to the one that ends last
  std::vector<ashlar::path_difference> named = {};  // those of them that make most of it, the most first
  ashlar::tick measured_ns = 0, planned_ns = 0;     // from the first begin of a pass to the last end
  ashlar::tick planned_end = 0;                     // of the pass that was measured to end last
};

// Names at most `most` causes. The timelines must have the same passes on the plan's devices: those
// beyond are other data-parallel ranks. Throws usage_error.
trace_comparison compared(trace_file measured, trace_file planned, int most);

std::string text_of(trace_comparison const& c);
// One timeline above the other, device by device.
std::string html_of(trace_comparison const& c);
// A trace with two processes a device.
std::string overlay_of(trace_comparison const& c);

}  // namespace tool

// Reads traces of PyTorch's profiler, as `export_chrome_trace` writes them: a file for each rank.
#pragma once

#include <ashlar/interop/json_text.hpp>
#include <ashlar/interop/json_trace.hpp>
#include <ashlar/run/profiled_costs.hpp>
#include <ashlar/run/profiled_rank.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ashlar {

// Whether it is a profile: it has annotations like those of PyTorch's pipeline runtime, "PP:2F0".
bool is_json_profile(json_text const& source);

// The annotated passes. Kernels belong to the pass during which they were launched, by any thread;
// without kernels in the whole file operators do; communication never does. `rank` is used if the file
// gives none. Throws input_error, with line, column and key, for any other file. O(n log n).
profiled_rank read_json_profile(json_text const& source, int rank = 0);

// Reads several ranks of a pipeline. A text without a rank gets its index. Throws input_error also if
// two are of one rank.
std::vector<profiled_rank> read_json_profiles(std::vector<json_text> const& sources);

// A file of costs, with warnings about guesses.
struct json_profiled_costs {
  nlohmann::ordered_json costs = {};  // read_json_costs() reads it
  std::vector<std::string> warnings = {};
};
json_profiled_costs costs_of_profiles(std::vector<json_text> const& sources);

// A typical step as a timeline; devices are the ranks of one pipeline, from 0. Throws input_error if the
// profile has no whole step.
json_trace timeline_of_profiles(std::vector<json_text> const& sources);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_profile.ipp>
#endif

// Traces of PyTorch's profiler: one file, or a folder with one of each rank.
#pragma once

#include "files/json_files.hpp"

#include <string>
#include <vector>

namespace tool {

bool is_folder(std::string const& path);

// Reads the file, or all files of a folder whose names end in .json, in their order. Throws usage_error,
// also for a folder without any, and for one with compressed traces of the profiler.
std::vector<json_text> read_json_texts(std::string const& path);

}  // namespace tool

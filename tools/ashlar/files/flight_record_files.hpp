// Dumps of PyTorch's flight recorder: files, each of one rank, or folders of them.
#pragma once

#include <ashlar/record/rank_record.hpp>

#include <string>
#include <vector>

namespace tool {

// Reads the files, and all files of the folders whose names end in a number before .json, .pickle or
// .pkl: that is the rank. Throws usage_error for a file that is no dump, for two of one rank, and if
// there is none.
std::vector<ashlar::rank_record> read_flight_records(std::vector<std::string> const& paths);

}  // namespace tool

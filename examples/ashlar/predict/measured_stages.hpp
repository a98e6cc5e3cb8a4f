// Times of passes that were measured, in place of what formulas say.
#pragma once

#include <ashlar/predict/question.hpp>

#include <string>

namespace tool {

// The file that `ashlar profile` writes, or a trace with passes in it, as `train --trace` writes it. Of
// a pass that the file has several times, the median counts. Throws usage_error.
void read_measured_stages(std::string const& path, ashlar::predict::question& q);

}  // namespace tool

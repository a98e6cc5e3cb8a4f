// Measured times of passes, in place of those of formulas.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <string>

namespace tool {

// Reads the file that `ashlar profile` writes, or a trace with passes in it, as `train --trace` writes
// it. If the file has a pass several times, the median counts. Throws usage_error.
void read_measured_stages(std::string const& path, ashlar::cost::question& q);

}  // namespace tool

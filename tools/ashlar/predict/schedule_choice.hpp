// Chooses the schedule of a run.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// Takes a name of the catalog, with hyphens or underscores, `interleaved`, or a file. Fills what the
// question needs of it. Throws usage_error.
void choose_schedule(std::string const& name_or_file, prediction& p);

}  // namespace tool

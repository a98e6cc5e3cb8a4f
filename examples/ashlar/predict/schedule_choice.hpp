// The schedule that a run is asked to have.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

// A name of the catalog, with hyphens or underscores, `interleaved`, or a file. Fills what the question
// needs of it. Throws usage_error.
void choose_schedule(std::string const& name_or_file, prediction& p);

}  // namespace tool

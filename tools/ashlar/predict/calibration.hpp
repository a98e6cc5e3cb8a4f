// The tool's constants fitted again to a user's own runs.
#pragma once

#include "predict/constants_file.hpp"

#include <string>

namespace tool {

struct calibration_report {
  std::string text;       // how well they fit
  std::string constants;  // a file, as --constants takes it
};

// Throws usage_error.
calibration_report calibrate_to(std::string const& runs_path, fitted_constants const& start);

}  // namespace tool

// Measured runs in a CSV file: a column an option of `ashlar predict`, and step_seconds.
#pragma once

#include "predict/report.hpp"

#include <string>
#include <vector>

namespace tool {

struct measured_run {
  prediction asked;
  double seconds = 0;  // measured; 0: not given
  int line = 0;        // of the file
};

// The first row names the columns: model, cluster, sequence, batch and, as they matter, micro-batch,
// tensor and so on; empty cells do not count. Models and clusters are named as in options. Throws
// usage_error with the line.
std::vector<measured_run> read_runs(std::string const& path, fitted_constants const& constants);

}  // namespace tool

// Constants of `ashlar predict`, and its errors on published runs.
#pragma once

#include <ashlar/predict/answer.hpp>
#include <ashlar/predict/constants.hpp>

#include <string>
#include <vector>

namespace tool {

struct fitted_constants {
  ashlar::predict::constants values;
  ashlar::predict::spreads around;
  std::vector<std::string> measured_machines = {};  // names of machines with runs in the fit
};

// Reads the program's own, or a file's (as `bench/predict/fit.py` and --calibrate write them). Throws
// usage_error.
fitted_constants own_constants();
fitted_constants read_constants(std::string const& path);

// "experts": the names of kinds of runs in files.
char const* name_of(ashlar::predict::run_kind kind);

}  // namespace tool

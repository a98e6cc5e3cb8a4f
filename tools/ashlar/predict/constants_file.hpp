// Constants of `ashlar predict`, and its errors on published runs.
#pragma once

#include <ashlar/cost/step/answer.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <string>
#include <vector>

namespace tool {

struct fitted_constants {
  ashlar::cost::constants values;
  ashlar::cost::constant_spreads spread{};  // between sources, of logarithms
  ashlar::cost::spreads around;
  std::vector<std::string> measured_machines = {};  // names of machines with runs in the fit
};

// Reads the program's own, or a file's (as `bench/predict/fit.py`, --calibrate and `ashlar_pp.measure`
// write them). Constants and tables that a file lacks are the program's own. Throws usage_error.
fitted_constants own_constants();
fitted_constants read_constants(std::string const& path);

// "experts": the names of kinds of runs in files.
char const* name_of(ashlar::cost::run_kind kind);

// "Hopper, 8 bits, experts": the names of measured kernels in files.
std::string words_for(ashlar::cost::measured_kernels const& k);

}  // namespace tool

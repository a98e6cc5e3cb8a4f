// What a profile tells, and where it is written.
#pragma once

#include "measured_costs.hpp"
#include "train_team.hpp"
#include "training.hpp"

#include <nlohmann/json.hpp>

namespace tool {

// What is measured, on what.
nlohmann::ordered_json about_of(training const& t, processors computing, int processes);

// Writes the file, and a table if that is not standard output.
void tell(measured_costs const& m, training const& t);

}  // namespace tool

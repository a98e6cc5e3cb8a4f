// The report of a profile, and where it is written.
#pragma once

#include "train/train_team.hpp"
#include "train/training.hpp"
#include <ashlar/run/measured_costs.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>

namespace tool {

// Describes what is measured, on which hardware.
nlohmann::ordered_json about_of(training const& t, processors computing, int processes);

// Report before anything is measured, after links are, and in the end: the file and, unless it goes to
// standard output, its contents.
void report_begin(training const& t, std::size_t parameters);
void report_links(ashlar::measured_costs const& m, training const& t);
void report_end(ashlar::measured_costs const& m, nlohmann::ordered_json const& about, training const& t,
                processors computing);

}  // namespace tool

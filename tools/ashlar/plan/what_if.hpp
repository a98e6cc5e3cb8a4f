// Why a plan is as it is: the same question, changed in one point.
#pragma once

#include "plan/predicted_plan.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace tool {

// Asks the study's question again with each power of two as the number of tensor and of pipeline ranks,
// where these are open and the first plan has another number; on each kind of devices alone; with 10 %
// more memory, and without a limit on it; with links that are twice as fast, inside domains and between
// them. An interrupt ends it with what was asked so far. Takes as long as that many plans.
// Requires a study with a plan.
std::vector<what_if> what_ifs_of(predicted_request const& r, predicted_study const& s);

// A table of the study's changed questions; empty if it has none.
std::string what_if_text(predicted_study const& s);
nlohmann::ordered_json what_if_json(predicted_study const& s);

}  // namespace tool

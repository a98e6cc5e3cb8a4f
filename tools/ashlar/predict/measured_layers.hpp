// Models whose layers were measured, from files.
#pragma once

#include "files/json_object.hpp"
#include <ashlar/cost/model/architecture.hpp>

#include <string>
#include <vector>

namespace tool {

// Reads lists of layers with "measured" (docs/formats.md). Layers without times have none. Throws
// usage_error.
ashlar::cost::architecture measured_model(json_object& file);

// Takes the times of layers, each of which was a stage when they were measured. Throws usage_error.
void take_times(ashlar::cost::architecture& model, std::string const& path);

// Percentages of forwards and of input passes that are causal attention: one number for both or two.
void take_causal_shares(ashlar::cost::architecture& model, std::vector<int> const& percent);

// Throws usage_error for a layer without times.
void must_have_times(ashlar::cost::architecture const& model);

}  // namespace tool

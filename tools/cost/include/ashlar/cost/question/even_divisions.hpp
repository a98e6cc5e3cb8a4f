// Divisions of a model's layers into stages of almost equal length.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>

#include <vector>

namespace ashlar::cost {

// Divides as evenly as possible, with embedding and head as a layer each: the ends have the fewest
// layers. Requires at most two stages more than layers.
std::vector<stage> deal_evenly(architecture const& model, layout const& sizes);

// Divides into virtual stages. All stages of a round, one per device, have equally many layers, and
// those of the first rounds one more; the first and the last stage have at most one above that. Returns
// all ways.
std::vector<std::vector<stage>> deals_in_even_rounds(architecture const& model, layout const& sizes);

}  // namespace ashlar::cost

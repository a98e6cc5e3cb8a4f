// Divisions of a model's layers into stages of almost equal length.
#pragma once

#include <ashlar/predict/question.hpp>
#include <ashlar/predict/stage.hpp>

#include <vector>

namespace ashlar::predict {

// Divides as evenly as possible, with embedding and head as a layer each: the ends have the fewest
// layers. Requires at most two stages more than layers.
std::vector<stage> deal_evenly(architecture const& model, layout const& sizes);

// Divides into virtual stages. All stages of a round, one per device, have equally many layers, and
// those of the first rounds one more; the first and the last stage have at most one above that. Returns
// all ways.
std::vector<std::vector<stage>> deals_in_even_rounds(architecture const& model, layout const& sizes);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/even_divisions.ipp>
#endif

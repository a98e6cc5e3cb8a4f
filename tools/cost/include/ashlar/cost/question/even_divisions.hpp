// Divisions of a model's layers into stages of almost equal length, or of lengths in proportion.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>

#include <vector>

namespace ashlar::cost {

// Divides as evenly as possible, with embedding and head as a layer each: the ends have the fewest
// layers. Requires at most two stages more than layers.
std::vector<stage> deal_evenly(architecture const& model, layout const& sizes);

// Divides the chain of embedding, layers, predictions and head, whose parts take `seconds` each, so that
// each stage's sum is as near as possible to its share, and every stage has a part.
std::vector<stage> deal_in_proportion(architecture const& model, std::vector<double> const& seconds,
                                      std::vector<double> const& shares);

// The parts `first` to `end` of that chain, as a stage.
stage stage_of_parts(architecture const& model, int first, int end);

// Divides into virtual stages. All stages of a round, one per device, have equally many layers, and
// those of the first rounds one more; the first and the last stage have at most one above that. Returns
// all ways.
std::vector<std::vector<stage>> deals_in_even_rounds(architecture const& model, layout const& sizes);

}  // namespace ashlar::cost

// Divisions of a model's layers into stages of almost equal length.
#pragma once

#include <ashlar/predict/question.hpp>
#include <ashlar/predict/stage.hpp>

#include <vector>

namespace ashlar::predict {

// As even as can be, with embedding and head as a layer each: the ends have the fewest layers. Of at
// most two stages more than there are layers.
std::vector<stage> deal_evenly(question const& q);

// Virtual stages of which all in a round, one of each device, have as many layers, and those of the
// first rounds one more; but for the first stage and the last, which have at most one above that. All
// ways.
std::vector<std::vector<stage>> deals_in_even_rounds(question const& q);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/even_divisions.ipp>
#endif

// A division of a model's layers among devices of different speeds.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/model/placement.hpp>

#include <vector>

namespace ashlar::cost {

// Stages in proportion to the speeds of their devices, by the seconds that the model's parts take there.
// Throws unpredictable.
std::vector<stage> deal_by_speed(question const& q, placement const& where, constants const& c);

}  // namespace ashlar::cost

// Parameters of a model's towers.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

namespace ashlar::cost {

// The layers of a tower as a model without tables; all parameters of the tower, those that a token
// meets, and those that train.
architecture architecture_of(architecture const& a, tower const& t);
double tower_parameters(architecture const& a, tower const& t);
double tower_active_parameters(architecture const& a, tower const& t);
double tower_trained_parameters(architecture const& a, tower const& t);

}  // namespace ashlar::cost

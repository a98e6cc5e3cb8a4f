// The best division of a model's layers into pipeline stages.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

struct dealing {
  std::vector<stage> stages;  // none: found no division that fits
  double seconds = 0;         // of a step; none: infinite
  double bound = 0;           // no division that fits takes less
};

// Returns the division with the least step_of() among those that fit on every device. Every stage has a
// part of the chain; predictions are among each device's last stages, as in Megatron-Core. Without
// virtual stages the answer is exact: `bound` is `seconds`. With them it is the best that moves of one
// part at a time find by the closed form, from even divisions and from the question's own stages, so it
// is no slower than these if they fit; `bound` limits how far it is from the best. Requires a closed
// form and no more stages than parts. With N parts and S stages O(S N^2) for each of a few thresholds,
// and as much for each move. Throws unpredictable.
dealing deal_layers(question const& q, constants const& c);

}  // namespace ashlar::cost

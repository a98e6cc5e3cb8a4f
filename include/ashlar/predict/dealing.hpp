// How layers are dealt to the stages of a pipeline, in the best way.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/question.hpp>
#include <ashlar/predict/stage.hpp>

#include <vector>

namespace ashlar::predict {

// A chain of parts is cut: embedding, each layer, the layers that predict further tokens together, head.
struct dealing {
  std::vector<stage> stages;  // none: no division that fits is found
  double seconds = 0;         // of a step; none: infinite
  double bound = 0;           // no division that fits takes less
};

// The division whose step_of() is least among those that fit on every device. Every stage has a part of
// the chain; predictions are among each device's last stages, as Megatron-Core has them. Without virtual
// stages the answer is exact: `bound` is `seconds`. With them it is the best of what moves of one part
// at a time find by the closed form, and of divisions whose rounds are even; `bound` says how far it may
// be from the best. The question must have a closed form and fewer stages than parts; its own stages are
// not read. With N parts and S stages O(S N^2) for each of a few thresholds, and as much for each move.
// Throws unpredictable.
dealing deal_layers(question const& q, constants const& c);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/dealing.ipp>
#endif

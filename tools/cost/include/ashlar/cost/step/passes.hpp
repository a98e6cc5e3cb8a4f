// Seconds of the forward and the backward of each virtual stage, by cause.
#pragma once

#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/layer_passes.hpp>

#include <vector>

namespace ashlar::cost {

// The passes of each virtual stage for one micro-batch.
std::vector<stage_passes> passes_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c);

}  // namespace ashlar::cost

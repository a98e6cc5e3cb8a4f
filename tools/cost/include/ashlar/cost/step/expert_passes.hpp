// Seconds that experts add to passes: exchanges that nothing hides, and launches.
#pragma once

#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/layer_passes.hpp>
#include <ashlar/cost/step/work.hpp>

namespace ashlar::cost {

// Sets the exposed exchanges of experts, in passes whose other terms are known.
void exchange_with_experts(question const& q, layer_work const& w, feed_forward const& feed,
                           stage_passes& s, constants const& c);

// Seconds to launch an expert: with the others, as a part of its own, or in one kernel of all.
double launch_of_expert_seconds(question const& q, constants const& c);

}  // namespace ashlar::cost

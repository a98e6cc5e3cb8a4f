// Passes and activations of the parts of a model before its decoder.
#pragma once

#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/layer_passes.hpp>

#include <cstddef>

namespace ashlar::cost {

// The passes of the tower of this number for one micro-batch. Products beside its layers are in 16 bits,
// on every tensor rank.
stage_passes passes_of_tower(question const& q, std::size_t number, constants const& c);

// The activations that it keeps. Products beside its layers keep their input where they train, and all
// but the last their result.
kept_activations kept_of_tower(question const& q, std::size_t number, bool gathered, constants const& c);

}  // namespace ashlar::cost

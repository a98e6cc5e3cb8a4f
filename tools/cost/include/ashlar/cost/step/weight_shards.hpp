// Shards of weights: their bytes, those that a gather copies from the host, and the time of sharing
// them.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/layer_passes.hpp>

namespace ashlar::cost {

// Bytes of a device's weights, of which this many ranks hold a share each, at `each` bytes a trained
// one. Scales of packed ones are not among them: they are not shared. Those that are neither packed nor
// trained are as they are loaded, in 16 bits: FSDP widens what trains.
double shard_bytes(question const& q, double each, held_parameters const& held, double ranks);

// Bytes of a weight that the optimizer of a fully sharded model updates, and of one that a gather copies
// from the host.
double own_weight_bytes(question const& q);
double copied_weight_bytes(question const& q);

// Adds to the passes of a stage the time that their exchanges take beyond them. Each gathers weights (2
// bytes); the backward scatters gradients (4 bytes), and sums those of a shard over its copies. The
// longer of pass and exchange counts, plus `contention` of the shorter.
void share_weights(question const& q, stage_passes& s, held_parameters const& held, constants const& c);

}  // namespace ashlar::cost

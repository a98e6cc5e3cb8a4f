// Shards of weights: their bytes, and those that a gather copies from the host.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/held_parameters.hpp>

namespace ashlar::cost {

// Bytes of a device's weights, of which this many ranks hold a share each, at `each` bytes a trained
// one. Scales of packed ones are not among them: they are not shared. Those that are neither packed nor
// trained are as they are loaded, in 16 bits: FSDP widens what trains.
double shard_bytes(question const& q, double each, held_parameters const& held, double ranks);

// Bytes of a weight that the optimizer of a fully sharded model updates, and of one that a gather copies
// from the host.
double own_weight_bytes(question const& q);
double copied_weight_bytes(question const& q);

}  // namespace ashlar::cost

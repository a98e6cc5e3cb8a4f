// The work of the adapters of a layer.
#pragma once

#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/step/work.hpp>

namespace ashlar::cost {

// Adds the work of one adapter, and gives that of a layer's. Their products are in 16 bits; their
// results are added to those of the frozen matrices.
void add_adapter(adapted_matrix const& to, question const& q, layer_work& w);
layer_work adapter_work(question const& q, layer const& l);
// A layer whose adapters have magnitudes: what a forward does with weights alone, and frozen products
// that run again behind dropout.
layer_work weight_norm_work(question const& q, layer const& l);
layer_work frozen_work_again(question const& q, layer const& l);
// A layer whose adapters are rotations: a forward makes them of what trains.
layer_work rotation_work(question const& q, layer const& l);

}  // namespace ashlar::cost

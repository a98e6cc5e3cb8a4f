// The work of the adapters of a layer.
#pragma once

#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/step/layer_passes.hpp>

namespace ashlar::cost {

// The passes of one adapter, and of those of a layer. Their products are in 16 bits.
stage_passes passes_of_adapter(question const& q, adapted_matrix const& to, constants const& c);
stage_passes passes_of_adapters(question const& q, layer const& l, constants const& c);

}  // namespace ashlar::cost

// The work of the adapters of a layer.
#pragma once

#include <ashlar/cost/model/adapter_forms.hpp>
#include <ashlar/cost/step/layer_passes.hpp>

namespace ashlar::cost {

// The work of a layer's adapters that runs so. Their products are in 16 bits.
layer_work adapter_work(question const& q, layer const& l, adapter_pass runs);

// The passes of one adapter, and of those of a layer.
stage_passes passes_of_adapter(question const& q, adapted_matrix const& to, constants const& c);
stage_passes passes_of_adapters(question const& q, layer const& l, constants const& c);

}  // namespace ashlar::cost

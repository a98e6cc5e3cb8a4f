// Matrices of layers that have adapters, and the adapters' parameters.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <vector>

namespace ashlar::cost {

// A matrix that may have an adapter.
struct adapted_matrix {
  double in = 0, out = 0;
  adapted which = adapted::none;
};

// The matrices in a part of a layer that are among these, undivided; and those with adapters.
std::vector<adapted_matrix> matrices_of(architecture const& a, mixer const& m, adapted among);
std::vector<adapted_matrix> matrices_of(architecture const& a, feed_forward const& f, adapted among);
std::vector<adapted_matrix> adapted_matrices(architecture const& a, mixer const& m);
std::vector<adapted_matrix> adapted_matrices(architecture const& a, feed_forward const& f);

// Parameters of the adapter of one matrix; of those of one layer, of the head's, and of all.
double adapter_parameters(adapters const& lora, adapted_matrix const& m);
double adapter_parameters(architecture const& a, layer const& l);
double head_adapter_parameters(architecture const& a);
double adapter_parameters(architecture const& a);

// Frozen bytes that the adapters of a model hold of their own, and those of one matrix at work.
double adapter_held_bytes(architecture const& a);
double adapter_bytes_at_work(architecture const& a);

// Products that a token meets in adapters, each a multiplication and an addition, and a third of one for
// each pass: of a layer, and of all.
double adapter_products(architecture const& a, layer const& l);
double adapter_products(architecture const& a);

}  // namespace ashlar::cost

// Matrices of layers that have adapters, and the adapters' parameters.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <vector>

namespace ashlar::cost {

// A matrix that may have an adapter: A has rank x `in` parameters, B has `out` x rank.
struct adapted_matrix {
  double in = 0, out = 0;
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

// Products that a token meets in adapters, each a multiplication and an addition: of a layer, and of
// all.
double adapter_products(architecture const& a, layer const& l);
double adapter_products(architecture const& a);

}  // namespace ashlar::cost

// Memory and messages of data ranks that shard parameters. Rajbhandari, Rasley, Ruwase, He: ZeRO: Memory
// Optimizations Toward Training Trillion Parameter Models (2020), sections 5 and 7.
#pragma once

#include "quantities.hpp"
#include "transformer_memory.hpp"
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/parameter_groups.hpp>

namespace formulas {

using namespace ashlar;

// How a stage's parameters are kept: sharded over this many data ranks, down to a level. Sharded
// gradients are whole for one layer at a time, sharded weights for two: the layer at work and the next.
struct parameter_sharing {
  sharding_level level = sharding_level::none;
  int data = 1;

  // Whether data ranks shard gradients.
  bool has_gradients() const {
    return level == sharding_level::gradients || level == sharding_level::full;
  }
  bool has_weights() const { return level == sharding_level::weights || level == sharding_level::full; }
  double others() const { return (data - 1.0) / data; }  // share of the other ranks
};

// Bytes on each rank of a stage with this many parameters, `largest` of them in one layer.
inline stage_memory kept_parameters(double parameters, double largest, parameter_bytes const& each,
                                    parameter_sharing const& sharing) {
  double const shard = parameters / sharing.data;
  double const weights = sharing.has_weights() ? min_of(parameters, shard + 2 * largest) : parameters,
               gradients = sharing.has_gradients() ? min_of(parameters, shard + largest) : parameters;
  stage_memory m;
  m.weights = whole_bytes(each.weight * weights);
  m.weight_gradient = whole_bytes(each.gradient * gradients);
  m.optimizer_state =
      whole_bytes(each.optimizer * (sharing.level == sharding_level::none ? parameters : shard));
  return m;
}

// Bytes per parameter that a rank moves once a step, after the last backward: in a ring to sum
// gradients; or to scatter them and gather weights; or only to gather weights.
inline double reduced_bytes(parameter_sharing const& sharing, parameter_bytes const& each = {}) {
  double const scattered = sharing.has_gradients() ? 0 : each.gradient,
               gathered = sharing.has_weights() ? 0 : each.weight;
  return sharing.others()
         * (sharing.level == sharding_level::none ? 2 * each.gradient : scattered + gathered);
}

// Bytes per parameter that a rank moves for every forward and for every backward of a micro-batch:
// weights are gathered for both, gradients scattered after each backward.
inline double gathered_bytes(parameter_sharing const& sharing, parameter_bytes const& each = {}) {
  return sharing.has_weights() ? sharing.others() * each.weight : 0;
}
inline double scattered_bytes(parameter_sharing const& sharing, parameter_bytes const& each = {}) {
  return sharing.has_gradients() ? sharing.others() * each.gradient : 0;
}

}  // namespace formulas

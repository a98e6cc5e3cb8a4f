#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/plan/training/quantities.hpp>
#include <ashlar/plan/training/sharded_parameters.hpp>

namespace ashlar {

stage_memory kept_parameters(double parameters, double largest, parameter_bytes const& each,
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

double reduced_bytes(parameter_sharing const& sharing, parameter_bytes const& each) {
  double const scattered = sharing.has_gradients() ? 0 : each.gradient,
               gathered = sharing.has_weights() ? 0 : each.weight;
  return sharing.others()
         * (sharing.level == sharding_level::none ? 2 * each.gradient : scattered + gathered);
}

}  // namespace ashlar

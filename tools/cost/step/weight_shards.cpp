#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/weight_shards.hpp>

namespace ashlar::cost {

double shard_bytes(question const& q, double each, held_parameters const& held, double ranks) {
  adapters const& lora = q.model.lora;
  double const rest = lora.pack() && lora.widens_rest ? 4 : min_of(each, value_bytes(q.program.format)),
               others = held.all.both() - held.trained.both() - held.packed.weights;
  return (each * held.trained.both() + rest * others + held.packed.codes) / ranks;
}

double own_weight_bytes(question const& q) {
  return stack_of(q).facts.main_weights() == weights_held::bits_16 ? value_bytes(q.program.format) : 4;
}

double copied_weight_bytes(question const& q) {
  return q.layout.offload.weights == offloaded_weights::own ? own_weight_bytes(q)
                                                            : value_bytes(q.program.format);
}

}  // namespace ashlar::cost

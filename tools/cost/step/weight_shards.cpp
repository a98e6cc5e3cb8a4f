#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/exchanges.hpp>
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

namespace weight_shards_detail {

// Seconds that copies over the host's link take before a pass's gathers, and after its scatters.
struct host_copies {
  double forward = 0, backward = 0;
};

// Each rank copies its shard to the device before it is gathered, and its own gradients to the host,
// which go the other way at the same time.
inline host_copies copies_of_weights(question const& q, held_parameters const& held) {
  offloaded_weights const away = q.layout.offload.weights;
  if (away == offloaded_weights::none) return {};
  double const ranks = q.layout.sharing_ranks(), each = copied_weight_bytes(q),
               unused = each * (held.all.both() - held.backward.both()) / ranks,
               in = shard_bytes(q, each, held, ranks),
               out = away == offloaded_weights::own ? each * held.trained.both() / ranks : 0,
               link = q.cluster.device().host.link;
  return {in / link, max_of(in - unused, out) / link};
}

}  // namespace weight_shards_detail

void share_weights(question const& q, stage_passes& s, held_parameters const& held, constants const& c) {
  double const ranks = q.layout.sharing_ranks();
  auto const seconds = [&](double bytes, double among) {
    return bytes * (among - 1) / among / group_rate(q.cluster, q.layout, among, q.layout.tensor, c);
  };
  auto const exposed = [&](pass_terms const& p, double exchange) {
    double const pass = p.launched();
    return max_of(pass, exchange) + c.contention * min_of(pass, exchange) - pass;
  };
  double const all = held.gathered_bytes(), unused = held.all.both() - held.backward.both(),
               from = q.layout.weight_ranks > 0 ? q.layout.weight_ranks : ranks,
               gathered = q.layout.sharding == sharding::full ? seconds(all - 2 * unused, from) : 0;
  double const summed =
      q.program.sums_copies_once ? 0 : copies_seconds(q.cluster, q.layout, held.trained, c);
  weight_shards_detail::host_copies const copies = weight_shards_detail::copies_of_weights(q, held);
  auto const share = [&exposed](pass_terms& p, double exchange, double copy) {
    p.sharding = exposed(p, exchange);
    p.offload = exposed(p, exchange + copy) - p.sharding;
  };
  share(s.forward, seconds(all, ranks), copies.forward);
  // Backwards whose gradients stay, and those that scatter them.
  pass_terms stays = s.backward;
  share(stays, gathered, copies.backward);
  share(s.backward, gathered + seconds(4 * held.trained.both(), ranks) + summed, copies.backward);
  if (!q.program.scatters_once) return;
  double const scatter = 1.0 / q.micro_batches();
  s.backward.sharding = scatter * s.backward.sharding + (1 - scatter) * stays.sharding;
  s.backward.offload = scatter * s.backward.offload + (1 - scatter) * stays.offload;
}

}  // namespace ashlar::cost

#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/expert_passes.hpp>
#include <ashlar/cost/step/kernels.hpp>

namespace ashlar::cost {

namespace expert_passes_detail {

// Exchanges of experts that run during `beside` seconds of computation occupy some multiprocessors, and
// take longer than it where they do.
inline double exposed_beside(question const& q, double exchange, double beside) {
  constexpr double occupied = 20;  // multiprocessors, as DeepEP takes
  return beside > 0 ? max_of(exchange - beside, exchange * occupied / q.cluster.device().units)
                    : exchange;
}

}  // namespace expert_passes_detail

void exchange_with_experts(question const& q, layer_work const& w, feed_forward const& feed,
                           stage_passes& s, constants const& c) {
  double const all = expert_seconds(q, w, feed, c);
  seconds_each_way beside;
  switch (stack_of(q).facts.exchange()) {
    case expert_exchange::in_the_way:
      break;
    case expert_exchange::beside_others:
      beside = {s.forward.on_device(), s.backward.on_device()};
      break;
    case expert_exchange::beside_shared: {
      layer_work const shared = shared_expert_work(q, feed);
      seconds_each_way const products = products_seconds(q, shared.products, c),
                             bytes = bytes_seconds(q, shared, c);
      beside = {products.forward + bytes.forward, products.backward + bytes.backward};
    }
  }
  s.forward.expert = expert_passes_detail::exposed_beside(q, all, beside.forward);
  s.backward.expert = expert_passes_detail::exposed_beside(q, all, beside.backward);
}

double launch_of_expert_seconds(question const& q, constants const& c) {
  switch (stack_of(q).facts.experts()) {
    case expert_kernels::loop:
      return max_of(c.host, c.host_each_expert);
    case expert_kernels::single:
      return 0;
    default:
      return c.host_each_expert;
  }
}

}  // namespace ashlar::cost

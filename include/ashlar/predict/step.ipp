// Definitions of step.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/exchanges.hpp>
#include <ashlar/predict/held_parameters.hpp>
#include <ashlar/predict/kernels.hpp>
#include <ashlar/predict/stack.hpp>
#include <ashlar/predict/step.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::predict {

namespace step_detail {

// Of one micro-batch on one device.
struct device_seconds {
  double forward = 0, backward = 0;
  double largest = 0;  // chunk, both ways

  double both() const { return forward + backward; }
};

inline std::vector<device_seconds> by_device(question const& q,
                                             std::vector<stage_passes> const& passes) {
  std::vector<device_seconds> all(static_cast<std::size_t>(q.pipeline));
  for (std::size_t s = 0; s < passes.size(); ++s) {
    device_seconds& d = all[s % all.size()];
    d.forward += passes[s].forward.seconds();
    d.backward += passes[s].backward.seconds();
    d.largest = max_of(d.largest, passes[s].seconds());
  }
  return all;
}

inline double data_seconds(question const& q, held_parameters const& held, device_seconds const& beside,
                           constants const& c) {
  double const ranks = 1.0 * q.data * q.context, groups = expert_data(q);
  double moved = held.dense * (ranks - 1) / ranks / group_rate(q, ranks, q.tensor, c);
  if (held.expert > 0 && groups > 1)
    moved +=
        held.expert * (groups - 1) / groups / group_rate(q, groups, 1.0 * q.expert * q.expert_tensor, c);
  stack const s = stack_of(q);
  if (s.is_classic) return 4 * moved;  // a sum in 16 bits moves everything twice
  bool const is_shared = q.shares != sharding::none;
  if (s.is_plain && is_shared) return (4 + 2) * moved;
  double const reduced = (!is_shared ? 8 : s.is_tuned ? 2 : 4) * moved;
  double const gathered = is_shared ? 2 * moved : 0;
  return max_of(c.data_exposed * reduced, reduced - beside.backward)
         + max_of(c.data_exposed * gathered, gathered - beside.forward);
}

}  // namespace step_detail

ASHLAR_INLINE step_terms step_of(question const& q, std::vector<stage> const& stages,
                                 constants const& c) {
  step_terms r;
  r.of_stages = passes_of(q, stages, c);
  auto const devices = step_detail::by_device(q, r.of_stages);
  double all_largest = 0;
  for (auto const& d : devices) all_largest += d.largest;
  double const lost = c.straggler * std::log2(max_of(1.0, 1.0 * q.devices / q.per_node));
  double const ranks = 1.0 * q.data * q.context;
  stack const s = stack_of(q);
  double most = -1;
  for (int d = 0; d < q.pipeline; ++d) {
    auto const& here = devices[static_cast<std::size_t>(d)];
    double const passes = micro_batches(q) * here.both(), bubble = all_largest - here.largest;
    held_parameters const held = held_by_device(q, stages, d);
    double data = 0;
    if (!s.is_sharded && ranks > 1)
      data = latency_seconds(ranks, c) + step_detail::data_seconds(q, held, here, c);
    double const updated =
        q.shares == sharding::none ? held.both() : held.dense / ranks + held.expert / expert_data(q);
    // Adam: the gradient, the 32-bit weight and two moments are read; those three and the weight
    // written.
    double const optimizer = 30 * updated / memory_rate(q.device, c);
    double const total = (passes + bubble) * (1 + lost) + data + optimizer;
    if (total <= most) continue;
    most = total;
    r.device = d;
    r.passes = passes;
    r.bubble = bubble;
    r.stragglers = lost * (passes + bubble);
    r.data = data;
    r.optimizer = optimizer;
  }
  if (s.is_plain) r.update = c.host_update * q.model.layer_count() / q.pipeline;
  r.seconds = r.passes + r.bubble + r.stragglers + r.data + r.optimizer + r.update;
  return r;
}

}  // namespace ashlar::predict

#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/adapter_work.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/expert_passes.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/layer_passes.hpp>
#include <ashlar/cost/step/packed_weights.hpp>

#include <vector>

namespace ashlar::cost {

void pass_terms::add(pass_terms const& other, double times) {
  products += times * other.products;
  attention += times * other.attention;
  scan += times * other.scan;
  bytes += times * other.bytes;
  tensor += times * other.tensor;
  expert += times * other.expert;
  context += times * other.context;
  host += times * other.host;
  weights += times * other.weights;
  measured += times * other.measured;
}

namespace layer_passes_detail {

// The share of launches that the host does itself.
inline double launched_share(question const& q, constants const& c) {
  switch (stack_of(q).facts.graphs()) {
    case captured::layers:
      return c.host_graphs;
    case captured::step:
      return 0;
    default:
      return 1;
  }
}

}  // namespace layer_passes_detail

stage_passes passes_of_work(question const& q, layer const& l, layer_work const& w, constants const& c) {
  stage_passes s;
  pass_terms &f = s.forward, &b = s.backward;
  auto const set = [&](double pass_terms::*term, seconds_each_way const& both) {
    f.*term = both.forward;
    b.*term = both.backward;
  };
  seconds_each_way const products = products_seconds(q, w.products, c);
  set(&pass_terms::products, products);
  b.weights = products.weights;
  set(&pass_terms::attention, attention_seconds(q, w, c));
  set(&pass_terms::scan, scan_seconds(q.cluster.device(), w, c));
  set(&pass_terms::bytes, bytes_seconds(q, w, c));
  f.tensor = b.tensor = tensor_seconds(q, w, c);
  exchange_with_experts(q, w, l.feed, s, c);
  f.context = context_seconds(q.cluster, q.layout, w, f.attention, c);
  b.context = context_seconds(q.cluster, q.layout, w, b.attention, c);
  f.host = w.parts * (c.host + (q.layout.tensor > 1 && stack_of(q).is_plain ? c.host_tensor : 0));
  if (w.experts > 0) f.host += c.host_expert + launch_of_expert_seconds(q, c) * w.experts;
  f.host *= layer_passes_detail::launched_share(q, c);
  b.host = f.host;
  return s;
}

void pass_terms::leave_out_weights() {
  (measured > 0 ? measured : products) -= weights;
  weights = 0;
}

namespace layer_passes_detail {

// Passes as they were measured for one sequence; a micro-batch takes a multiple. Gradients of weights
// take half of a backward, unless attention, which has no weights, leaves less.
inline stage_passes passes_of_measured(question const& q, measured_layer const& m) {
  stage_passes s;
  double const times = q.layout.micro_batch, forward = times * m.forward, backward = times * m.backward;
  s.forward.attention = m.attends_forward * forward;
  s.forward.measured = forward - s.forward.attention;
  s.backward.attention = m.attends_backward * backward;
  s.backward.measured = backward - s.backward.attention;
  s.backward.weights = min_of(backward / 2, s.backward.measured);
  return s;
}

}  // namespace layer_passes_detail

stage_passes passes_of_layer(question const& q, layer const& l, recomputation again, gradient_kind takes,
                             constants const& c) {
  measured_layer const* const m = measured_on(l, q.layout.tensor, q.cluster.kinds.front().name);
  stage_passes s = m != nullptr ? layer_passes_detail::passes_of_measured(q, *m)
                                : passes_of_work(q, l, work_of(q, l), c);
  if (takes == gradient_kind::none) {
    s.backward = {};
    return s;
  }
  if (takes == gradient_kind::inputs) s.backward.leave_out_weights();
  if (m != nullptr) {
    if (has(again, recomputation::full)) s.backward.add(s.forward);
    return s;
  }
  if (q.model.lora.are_any()) {
    stage_passes const low = passes_of_adapters(q, l, c);
    s.forward.add(low.forward);
    s.backward.add(low.backward);
    if (has(again, recomputation::full)) s.backward.add(low.forward);
  }
  if (again != recomputation::none)
    s.backward.add(passes_of_work(q, l, work_again(q, l, again), c).forward);
  return s;
}

stage_passes passes_of_head(question const& q, constants const& c) {
  if (!q.model.has_tables()) return {};
  product const p = head_product(q);
  std::vector<product> only;
  only.push_back(p);
  seconds_each_way const products = products_seconds(q, only, c);
  stage_passes s;
  s.forward.products = products.forward;
  s.backward.products = products.backward;
  s.backward.weights = products.weights;
  if (!q.model.trains_head()) s.backward.leave_out_weights();
  adapters const& lora = q.model.lora;
  unpacking_bytes const unpacked = lora.packs_head
                                       ? unpacking_of(lora, p.m, p.n, p.k, value_bytes(q.program.format))
                                       : unpacking_bytes{};
  double const rate = memory_rate(q.cluster.device(), c), loss = 0.5 * p.m * p.n * c.loss_bytes;
  s.forward.bytes = (loss + unpacked.forward) / rate;
  if (q.layout.tensor > 1)
    s.forward.tensor = tensor_bytes_seconds(
        q.cluster, q.layout, 2 * p.m * q.model.hidden * (q.layout.tensor - 1.0) / q.layout.tensor, c);
  s.forward.host = c.host * layer_passes_detail::launched_share(q, c);
  s.backward.bytes = (loss + unpacked.backward) / rate;
  s.backward.tensor = s.forward.tensor;
  s.backward.host = s.forward.host;
  if (q.model.lora.are_any() && has(q.model.lora.of, adapted::head)) {
    stage_passes const low = passes_of_adapter(q, {p.k, p.n * q.layout.tensor}, c);
    s.forward.add(low.forward);
    s.backward.add(low.backward);
  }
  return s;
}

}  // namespace ashlar::cost

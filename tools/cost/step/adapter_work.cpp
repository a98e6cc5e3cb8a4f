#include <ashlar/cost/step/adapter_work.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/packed_weights.hpp>

namespace ashlar::cost {

namespace adapter_work_detail {

// Bytes are moved beside products with both gradients.
inline void add(question const& q, adapted_matrix const& to, adapter_pass runs, layer_work& w) {
  double const tokens = q.micro_batch_tokens(), tensor = q.layout.tensor;
  adapter_form const form = form_of(q.model.lora, to);
  for (adapter_product const& each : form.products) {
    if (each.runs != runs) continue;
    bool const reads_input = each.k == to.in;  // which tensor ranks share; others share results
    w.products.push_back({.m = each.m > 0 ? each.m : tokens,
                          .n = each.n / (reads_input ? 1 : tensor),
                          .k = each.k / (reads_input ? tensor : 1),
                          .count = each.count,
                          .is_low = false,
                          .is_one_kernel = each.count > 1});
  }
  if (runs != adapter_pass::both_gradients) return;
  w.forward_bytes += form.moved.forward * tokens / tensor + form.moved.forward_once;
  w.backward_bytes += form.moved.backward * tokens / tensor + form.moved.backward_once;
  if (form.unpacks_weights)
    w.forward_bytes +=
        unpacking_of(q.model.lora, tokens, to.out, to.in, value_bytes(q.program.format)).forward;
}

// Passes of what `work` makes for each way to run.
template <class Work>
stage_passes passes(question const& q, layer const& l, constants const& c, Work const& work) {
  auto const of = [&](adapter_pass runs) { return passes_of_work(q, l, work(runs), c); };
  stage_passes made = of(adapter_pass::both_gradients), one = of(adapter_pass::one_gradient);
  one.backward.leave_out_weights();
  made.forward.add(one.forward);
  made.backward.add(one.backward);
  made.forward.add(of(adapter_pass::forward).forward);
  made.backward.add(of(adapter_pass::backward).forward);
  return made;
}

}  // namespace adapter_work_detail

layer_work adapter_work(question const& q, layer const& l, adapter_pass runs) {
  layer_work w;
  for (auto const& part : {adapted_matrices(q.model, l.mix), adapted_matrices(q.model, l.feed)})
    for (adapted_matrix const& each : part) adapter_work_detail::add(q, each, runs, w);
  return w;
}

stage_passes passes_of_adapter(question const& q, adapted_matrix const& to, constants const& c) {
  return adapter_work_detail::passes(q, {}, c, [&](adapter_pass runs) {
    layer_work w;
    adapter_work_detail::add(q, to, runs, w);
    return w;
  });
}

stage_passes passes_of_adapters(question const& q, layer const& l, constants const& c) {
  return adapter_work_detail::passes(q, l, c,
                                     [&](adapter_pass runs) { return adapter_work(q, l, runs); });
}

}  // namespace ashlar::cost

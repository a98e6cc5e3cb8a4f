#include <ashlar/cost/model/adapter_forms.hpp>
#include <ashlar/cost/step/adapter_work.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/packed_weights.hpp>

#include <array>
#include <cstddef>

namespace ashlar::cost {

namespace adapter_work_detail {

// The work of each of the passes that `adapter_pass` names.
using work_by_pass = std::array<layer_work, 4>;

inline void add(question const& q, adapted_matrix const& to, work_by_pass& all) {
  double const tokens = q.micro_batch_tokens(), tensor = q.layout.tensor;
  adapter_form const form = form_of(q.model.lora, to);
  for (adapter_product const& each : form.products) {
    bool const reads_input = each.k == to.in;  // which tensor ranks share; others share results
    all[static_cast<std::size_t>(each.runs)].products.push_back(
        {.m = each.m > 0 ? each.m : tokens,
         .n = each.n / (reads_input ? 1 : tensor),
         .k = each.k / (reads_input ? tensor : 1),
         .count = each.count,
         .is_low = false,
         .is_one_kernel = each.count > 1});
  }
  layer_work& moves = all[static_cast<std::size_t>(adapter_pass::both_gradients)];
  moves.forward_bytes += form.moved.forward * tokens / tensor + form.moved.forward_once;
  moves.backward_bytes += form.moved.backward * tokens / tensor + form.moved.backward_once;
  if (form.unpacks_weights)
    moves.forward_bytes +=
        unpacking_of(q.model.lora, tokens, to.out, to.in, value_bytes(q.program.format)).forward;
}

inline stage_passes passes(question const& q, layer const& l, work_by_pass const& all,
                           constants const& c) {
  auto const of = [&](adapter_pass each) {
    return passes_of_work(q, l, all[static_cast<std::size_t>(each)], c);
  };
  stage_passes made = of(adapter_pass::both_gradients), one = of(adapter_pass::one_gradient);
  one.backward.leave_out_weights();
  made.forward.add(one.forward);
  made.backward.add(one.backward);
  made.forward.add(of(adapter_pass::forward).forward);
  made.backward.add(of(adapter_pass::backward).forward);
  return made;
}

}  // namespace adapter_work_detail

stage_passes passes_of_adapter(question const& q, adapted_matrix const& to, constants const& c) {
  adapter_work_detail::work_by_pass all;
  adapter_work_detail::add(q, to, all);
  return adapter_work_detail::passes(q, {}, all, c);
}

stage_passes passes_of_adapters(question const& q, layer const& l, constants const& c) {
  adapter_work_detail::work_by_pass all;
  for (auto const& part : {adapted_matrices(q.model, l.mix), adapted_matrices(q.model, l.feed)})
    for (adapted_matrix const& each : part) adapter_work_detail::add(q, each, all);
  return adapter_work_detail::passes(q, l, all, c);
}

}  // namespace ashlar::cost

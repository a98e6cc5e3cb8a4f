#include <ashlar/cost/step/adapter_work.hpp>
#include <ashlar/cost/step/packed_weights.hpp>

namespace ashlar::cost {

void add_adapter(adapted_matrix const& to, question const& q, layer_work& w) {
  double const tokens = q.micro_batch_tokens(), tensor = q.layout.tensor, rank = q.model.lora.rank;
  if (q.model.lora.kind == adapter_kind::rotations) {
    w.products.push_back({.m = tokens,
                          .n = rank,
                          .k = rank,
                          .count = to.in / rank,
                          .is_low = false,
                          .is_one_kernel = true});
    // The input is cast to the 32 bits of the adapter, and back for the product.
    w.forward_bytes += 2 * (2 + 4) * tokens * to.in;
    w.backward_bytes += (2 * (2 + 4) + 2 * 3) * tokens * to.in;
    return;
  }
  w.products.push_back({.m = tokens, .n = rank, .k = to.in / tensor, .is_low = false});
  w.products.push_back({.m = tokens, .n = to.out / tensor, .k = rank, .is_low = false});
  w.forward_bytes += 2 * 3 * tokens * to.out / tensor;
  w.backward_bytes += 2 * 3 * tokens * to.in / tensor;
  if (q.model.lora.kind != adapter_kind::magnitudes) return;
  // Both results are scaled, and their gradients are multiplied by them.
  w.forward_bytes += 2 * 4 * tokens * to.out / tensor;
  w.backward_bytes += 2 * 6 * tokens * to.out / tensor;
}

namespace adapter_work_detail {

// The work of all matrices of a layer that have adapters.
template <class Add>
layer_work work_of_each(question const& q, layer const& l, Add const& add) {
  layer_work w;
  for (auto const& part : {adapted_matrices(q.model, l.mix), adapted_matrices(q.model, l.feed)})
    for (adapted_matrix const& each : part) add(each, q, w);
  return w;
}

// Norms of the rows of W + B A take the product of both, by rows of an identity, and what reads and
// writes it: the identity in 32 bits; the product, scaled, added, and its norms, in 16.
inline void add_weight_norms(adapted_matrix const& of, question const& q, layer_work& w) {
  double const rank = q.model.lora.rank;
  w.products.push_back({.m = of.in, .n = rank, .k = of.in, .is_low = false});
  w.products.push_back({.m = of.in, .n = of.out, .k = rank, .is_low = false});
  w.forward_bytes +=
      4 * of.in * of.in + 2 * 7 * of.in * of.out
      + unpacking_of(q.model.lora, q.micro_batch_tokens(), of.out, of.in, value_bytes(q.program.format))
            .forward;
}

// Blocks are made by five terms of a series, which have three products.
inline void add_rotations(adapted_matrix const& of, question const& q, layer_work& w) {
  double const rank = q.model.lora.rank;
  w.products.push_back({.m = rank,
                        .n = rank,
                        .k = rank,
                        .count = 3 * of.in / rank,
                        .is_low = false,
                        .is_one_kernel = true});
}

}  // namespace adapter_work_detail

layer_work rotation_work(question const& q, layer const& l) {
  return adapter_work_detail::work_of_each(q, l, adapter_work_detail::add_rotations);
}

layer_work weight_norm_work(question const& q, layer const& l) {
  return adapter_work_detail::work_of_each(q, l, adapter_work_detail::add_weight_norms);
}

layer_work frozen_work_again(question const& q, layer const& l) {
  return adapter_work_detail::work_of_each(
      q, l, [](adapted_matrix const& each, question const& of, layer_work& w) {
        w.products.push_back(
            {.m = of.micro_batch_tokens() * 1.0, .n = each.out, .k = each.in, .is_low = false});
      });
}

layer_work adapter_work(question const& q, layer const& l) {
  return adapter_work_detail::work_of_each(q, l, add_adapter);
}

}  // namespace ashlar::cost

#include <ashlar/core/cost.hpp>
#include <ashlar/plan/training/layout.hpp>
#include <ashlar/plan/training/quantities.hpp>

namespace ashlar {

kept_widths widths_of(training_layout const& l) {
  return {.whole = l.fused_norm ? 8.0 : 24.0,
          .split = 8,
          .feed_forward = 8,
          .scores = l.flash_attention ? 0.0 : 5.0};
}

memory_model layout_memory(transformer const& t, training_layout const& l) {
  int const layers = (t.layers + l.pipeline - 1) / l.pipeline;
  double const head = l.pipeline == 1 ? 2 : 1;
  double const parameters = (layers * t.layer_parameters() + head * t.embedding_parameters()) / l.tensor;
  split_layer const layer{t.hidden, t.feed_forward, t.heads, t.sequence, l.tensor, l.sequence_parallel};
  double const whole = kept_bytes(layer, l.micro_batch, recomputation::none, widths_of(l));
  double const kept = layers * kept_bytes(layer, l.micro_batch, l.again, widths_of(l));
  double const logits = l.pipeline == 1 ? 6 * t.vocabulary * l.micro_batch * t.sequence / l.tensor : 0;
  stage_memory m;
  m.weights = whole_bytes(2 * parameters + logits);
  m.weight_gradient = whole_bytes(2 * parameters);
  m.optimizer_state = whole_bytes(12 * parameters / l.data);
  m.stash = whole_bytes(kept);
  if (l.again == recomputation::full) m.weights += whole_bytes(whole);
  memory_model made;
  made.stages[0] = m;
  return made;
}

layout_reason comes_before(training_layout const& a, training_layout const& b, bool long_or_large) {
  if (a.again != b.again)
    return a.again < b.again ? layout_reason::no_recomputation : layout_reason::none;
  if (a.micro_batch != b.micro_batch)
    return a.micro_batch < b.micro_batch ? layout_reason::smaller_micro_batch : layout_reason::none;
  int const fused_a = a.flash_attention + a.fused_norm, fused_b = b.flash_attention + b.fused_norm;
  if (fused_a != fused_b) return fused_a > fused_b ? layout_reason::fused_kernels : layout_reason::none;
  if (a.sequence_parallel != b.sequence_parallel)
    return a.sequence_parallel == long_or_large ? layout_reason::sequence_parallel : layout_reason::none;
  if (a.devices_of_model() != b.devices_of_model())
    return a.devices_of_model() < b.devices_of_model() ? layout_reason::fewer_devices_of_model
                                                       : layout_reason::none;
  return a.tensor < b.tensor ? layout_reason::less_tensor : layout_reason::none;
}

}  // namespace ashlar

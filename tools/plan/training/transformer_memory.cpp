#include <ashlar/plan/training/transformer_memory.hpp>

namespace ashlar {

double kept_bytes(split_layer const& l, double samples, recomputation again, kept_widths const& w) {
  double const tokens = samples * l.sequence, ranks = l.tensor;
  double const whole = tokens * l.hidden / (l.sequence_parallel ? ranks : 1);
  if (again == recomputation::full) return w.input * tokens * l.hidden;
  double const scores = again == recomputation::none ? w.scores * l.heads * l.sequence : 0;
  return w.whole * whole
         + tokens * (w.split * l.hidden + w.feed_forward * l.feed_forward + scores) / ranks;
}

}  // namespace ashlar

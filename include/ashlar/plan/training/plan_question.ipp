// Definitions of plan_question.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/plan/training/plan_question.hpp>

namespace ashlar {

ASHLAR_INLINE placement placement_of(training_plan const& plan) {
  devices const p{plan.layout.pipeline};
  if (is_v_shaped(*plan.entry)) return v_shape(p);
  if (plan.chunks > 1) return looped(p, chunks{plan.chunks});
  return linear(p);
}

ASHLAR_INLINE schedule passes_of(training_plan const& plan, int micro_batch_count) {
  catalog::shape s{.p = devices{plan.layout.pipeline}, .m = micro_batches{micro_batch_count}};
  s.v = chunks{plan.chunks};
  s.sequence_chunks = plan.sequence_chunks;
  if (plan.entry->uses(parameter::group_size)) s.group = plan.layout.pipeline;
  return plan.entry->make(s);
}

ASHLAR_INLINE listed_model const* list_of(plan_question const& q, int tensor) {
  for (listed_model const& each : q.lists)
    if (each.tensor == tensor) return &each;
  return nullptr;
}

}  // namespace ashlar

// Definitions of answer.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/answer.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::predict {

ASHLAR_INLINE answer predict_run(question const& q, constants const& c, spreads const& s) {
  check(q);
  for (std::size_t i = 0; i < constant_names.size(); ++i)
    if (!(c.*constant_names[i].value > 0 && c.*constant_names[i].value < 1e30))
      throw unpredictable(requirement::constants_are_positive, static_cast<long long>(i));
  std::vector<stage> const stages = stages_of(q);
  answer a;
  a.step = step_of(q, stages, c);
  a.memory = memory_of(q, stages, c);
  a.peak = peak_bytes(a.memory);
  a.peak_of_last = a.memory[static_cast<std::size_t>(last_device(q, stages))].all();
  a.every_stage_works = every_stage_works(q);
  a.fits = a.every_stage_works && fits(q, a.peak, c);
  a.operations = step_operations(q);
  a.kind = run_kind_of(q);
  a.on_several_nodes = q.devices > q.per_node;
  spread const& around = s[static_cast<std::size_t>(a.kind)][a.on_several_nodes ? 1 : 0];
  a.low = a.step.seconds * around.low;
  a.high = a.step.seconds * around.high;
  if (!std::isfinite(a.step.seconds) || !std::isfinite(a.peak))
    throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  return a;
}

ASHLAR_INLINE pass_terms sum_of_passes(question const& q, step_terms const& step) {
  pass_terms sums;
  double const n = micro_batches(q);
  double launching = 0;
  for (std::size_t s = static_cast<std::size_t>(step.device); s < step.of_stages.size();
       s += static_cast<std::size_t>(q.pipeline))
    for (pass_terms const* p : {&step.of_stages[s].forward, &step.of_stages[s].backward}) {
      sums.add(*p, n);
      sums.sharding += n * p->sharding;
      sums.transfer += n * p->transfer;
      launching += n * (p->launched() - p->on_device());
    }
  sums.host = launching;
  return sums;
}

}  // namespace ashlar::predict

#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/answer.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

bool is_measured_alike(question const& q) {
  bool const runs_again_alike = q.layout.recompute == recomputation::none
                                || q.layout.recompute == recomputation::attention
                                || q.layout.recompute == recomputation::full;
  bool const is_as_usual = stack_of(q).writes_scores == stack_of(q).is_classic;
  return is_as_usual && !q.program.dispatches_8_bits && !stack_of(q).sums_in_shards
         && !q.layout.is_executed() && q.measured.stages.empty() && runs_again_alike
         && q.layout.recompute_in.are_all() && !q.model.freezes_any() && !q.layout.offload.is_any()
         && q.layout.shard_ranks == 0 && q.layout.weight_ranks == 0;
}

interval_gap interval_gap_of(question const& q, measured_sizes const& largest) {
  if (!every_stage_works(q)) return interval_gap::idle_stage;
  if (!is_measured_alike(q)) return interval_gap::features;
  if (!q.cluster.device.is_measured) return interval_gap::machine;
  measured_sizes const& l = largest;
  struct {
    interval_gap gap;
    int size, measured;
  } const sizes[] = {{interval_gap::sequence, q.sequence, l.sequence},
                     {interval_gap::devices, q.cluster.devices, l.devices},
                     {interval_gap::pipeline, q.layout.pipeline, l.pipeline},
                     {interval_gap::tensor, q.layout.tensor, l.tensor},
                     {interval_gap::context, q.layout.context, l.context},
                     {interval_gap::expert, q.layout.expert, l.expert}};
  for (auto const& each : sizes)
    if (each.measured > 0 && each.size - each.measured > each.measured) return each.gap;
  return interval_gap::none;
}

namespace answer_detail {

inline fit fit_of(question const& q, answer const& a, constants const& c) {
  if (a.fits)
    return a.has_peak_interval && fits(q.cluster.device, a.high_peak, c) ? fit::fits : fit::should_fit;
  return a.has_peak_interval && !fits(q.cluster.device, a.low_peak, c) ? fit::does_not_fit
                                                                       : fit::should_not_fit;
}

}  // namespace answer_detail

answer predict_run(question const& q, constants const& c, spreads const& s) {
  check(q);
  check(c);
  std::vector<stage> const stages = stages_of(q);
  answer a;
  a.step = step_of(q, stages, c);
  a.memory = memory_of(q, stages, c, a.step.run);
  a.peak = peak_bytes(a.memory);
  a.peak_on_host = peak_host_bytes(a.memory);
  int const last = placement_of(q).device_of(0, last_with_head(stages));
  a.peak_of_last = a.memory[static_cast<std::size_t>(last)].all();
  a.every_stage_works = every_stage_works(q);
  a.fits = a.every_stage_works && fits(q.cluster.device, a.memory, c);
  a.operations = step_operations(q.model, q.sequence, q.batch);
  a.kind = run_kind_of(q);
  a.on_several_nodes = q.cluster.devices > q.cluster.device.per_node;
  auto const kind = static_cast<std::size_t>(a.kind);
  spread const& around = s.steps[kind][a.on_several_nodes ? 1 : 0];
  a.gap = interval_gap_of(q, s.largest);
  if (a.has_interval()) {
    a.low = a.step.seconds * around.low;
    a.high = a.step.seconds * around.high;
  }
  a.has_peak_interval = a.has_interval() && s.peaks[kind].runs > 0;
  if (a.has_peak_interval) {
    a.low_peak = a.peak * s.peaks[kind].low;
    a.high_peak = a.peak * s.peaks[kind].high;
  }
  a.memory_fit = answer_detail::fit_of(q, a, c);
  if (!std::isfinite(a.step.seconds) || !std::isfinite(a.peak) || !std::isfinite(a.peak_on_host))
    throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
  return a;
}

pass_terms sum_of_passes(step_terms const& step) {
  pass_terms sums;
  double launching = 0;
  for (std::size_t s = 0; s < step.of_stages.size(); ++s) {
    double const n = step.micro_batches[s];
    for (pass_terms const* p : {&step.of_stages[s].forward, &step.of_stages[s].backward}) {
      sums.add(*p, n);
      sums.sharding += n * p->sharding;
      sums.offload += n * p->offload;
      sums.transfer += n * p->transfer;
      launching += n * (p->launched() - p->on_device());
    }
  }
  sums.host = launching;
  sums.expert -= step.hidden;
  if (sums.expert < 0) {  // pairs hide waits for the host, too
    sums.host += sums.expert;
    sums.expert = 0;
  }
  return sums;
}

}  // namespace ashlar::cost

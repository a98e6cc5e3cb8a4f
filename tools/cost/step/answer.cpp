#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/answer.hpp>

#include <array>
#include <cmath>
#include <cstddef>

namespace ashlar::cost {

measured_kernels kernels_of(question const& q) {
  return {q.cluster.device().like(), bits_of(q.program.format),
          q.model.has_experts() || q.model.has_state_space()};
}

namespace answer_detail {

struct compared_size {
  interval_gap gap;
  int size, measured;
};

inline std::array<compared_size, 6> compared_sizes(question const& q, measured_sizes const& l) {
  return {{{interval_gap::sequence, q.sequence, l.sequence},
           {interval_gap::devices, q.cluster.device_count(), l.devices},
           {interval_gap::pipeline, q.layout.pipeline, l.pipeline},
           {interval_gap::tensor, q.layout.tensor, l.tensor},
           {interval_gap::context, q.layout.context, l.context},
           {interval_gap::expert, q.layout.expert, l.expert}}};
}

inline bool has_measured_kernels(question const& q, std::vector<measured_kernels> const& all) {
  for (measured_kernels const& each : all)
    if (each == kernels_of(q)) return true;
  return all.empty();
}

// Values of facts that no measured run is known to have, and the runs that they concern.
struct unmeasured_value {
  fact which;
  unsigned char value;
  bool (*concerns)(question const&);
};

inline bool is_any(question const& /*unused*/) { return true; }
inline bool has_pipeline(question const& q) { return q.layout.pipeline > 1; }
inline bool has_experts(question const& q) { return q.model.has_experts(); }
inline bool exchanges_tokens(question const& q) { return has_experts(q) && q.layout.expert > 1; }
inline bool has_scales(question const& q) { return q.program.format == number_format::fp8; }

template <class Value>
constexpr unmeasured_value value_of(fact which, Value value, bool (*concerns)(question const&)) {
  return {which, static_cast<unsigned char>(value), concerns};
}

inline constexpr unmeasured_value unmeasured_values[] = {
    value_of(fact::transfers, message::single, has_pipeline),
    value_of(fact::expert_overlap, expert_exchange::beside_shared, exchanges_tokens),
    value_of(fact::expert_dispatch, token_dispatch::all_gather, exchanges_tokens),
    value_of(fact::expert_products, expert_kernels::loop, has_experts),
    value_of(fact::expert_products, expert_kernels::single, has_experts),
    value_of(fact::fused_permutation, is_off, has_experts),
    value_of(fact::fused_norm, is_off, is_any),
    value_of(fact::scales, scaling::delayed, has_scales),
    value_of(fact::scales, scaling::blocks, has_scales),
    value_of(fact::main_weights, weights_held::rest, is_any),
    value_of(fact::main_weights, weights_held::bits_16, is_any),
    value_of(fact::first_moment, moment_held::bits_16, is_any),
    value_of(fact::first_moment, moment_held::bits_8, is_any),
    value_of(fact::first_moment, moment_held::bits_4, is_any),
    value_of(fact::second_moment, moment_held::bits_16, is_any),
    value_of(fact::second_moment, moment_held::bits_8, is_any),
    value_of(fact::second_moment, moment_held::bits_4, is_any),
};

}  // namespace answer_detail

std::vector<char const*> unmeasured_facts(question const& q) {
  fact_values const facts = stack_of(q).facts;
  std::vector<char const*> names;
  for (auto const& each : answer_detail::unmeasured_values)
    if (facts.at(each.which) == each.value && each.concerns(q))
      names.push_back(fact_table[static_cast<std::size_t>(each.which)].name);
  if (answer_detail::has_experts(q))
    for (fact_number each : {fact_number::imbalance, fact_number::capacity})
      if (facts.number(each) > 0)
        names.push_back(fact_number_table[static_cast<std::size_t>(each)].name);
  return names;
}

std::vector<unmeasured> unmeasured_in(question const& q, spreads const& s) {
  std::vector<unmeasured> found;
  auto const unless = [&](bool is_measured, unmeasured what) {
    if (!is_measured) found.push_back(what);
  };
  unless(answer_detail::has_measured_kernels(q, s.kernels), unmeasured::kernels);
  bool is_larger = false;
  for (auto const& each : answer_detail::compared_sizes(q, s.largest))
    is_larger = is_larger || (each.measured > 0 && each.size > each.measured);
  unless(!is_larger, unmeasured::size);
  unless(q.layout.recompute_in.are_all(), unmeasured::recomputation);
  offloaded const away = q.layout.offload.parts;
  unless(
      away == offloaded::none || (away == offloaded::all && q.cluster.device().host.link >= s.host_link),
      unmeasured::offload);
  stack const does = stack_of(q);
  unless(does.has_usual_attention, unmeasured::attention);
  unless(!q.program.dispatches_8_bits, unmeasured::dispatch);
  unless(!q.layout.is_executed(), unmeasured::schedule);
  unless(q.layout.shard_ranks == 0 && q.layout.weight_ranks == 0 && !does.sums_in_shards
             && !q.program.scatters_once,
         unmeasured::shards);
  unless(unmeasured_facts(q).empty(), unmeasured::program);
  return found;
}

interval_gap interval_gap_of(question const& q, measured_sizes const& largest) {
  if (!every_stage_works(q)) return interval_gap::idle_stage;
  if (q.cluster.has_several_kinds() || q.model.has_measured_layers() || !q.measured.stages.empty()
      || q.model.freezes_any() || q.model.has_encoder() || q.model.has_indexers()
      || !q.model.towers.empty() || q.layout.offload.optimizer
      || q.model.update.kind != optimizer_kind::adam
      || q.layout.offload.weights != offloaded_weights::none || q.program.frozen_forwards > 0
      || q.program.holds_frozen_copy || !q.teachers.empty() || !q.model.has_logits())
    return interval_gap::features;
  if (!q.cluster.device().is_measured) return interval_gap::machine;
  for (auto const& each : answer_detail::compared_sizes(q, largest))
    if (each.measured > 0 && each.size - each.measured > each.measured) return each.gap;
  return interval_gap::none;
}

ratios ratios_of(spread_table const& table, run_kind kind, std::size_t unmeasured_properties,
                 double of_constants) {
  spread const& s = table.kinds[static_cast<std::size_t>(kind)];
  double const sigma =
      std::sqrt(s.within * s.within + s.between * s.between + of_constants
                + static_cast<double>(unmeasured_properties) * table.beyond * table.beyond);
  return {std::exp(table.low * sigma), std::exp(table.high * sigma)};
}

namespace answer_detail {

inline fit fit_of(question const& q, answer const& a, constants const& c) {
  if (a.fits)
    return a.has_peak_interval && fits(q.cluster.device(), a.high_peak, c) ? fit::fits : fit::should_fit;
  return a.has_peak_interval && !fits(q.cluster.device(), a.low_peak, c) ? fit::does_not_fit
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
  a.fullest = fullest_device(q, a.memory);
  a.peak = a.memory[static_cast<std::size_t>(a.fullest)].all();
  a.capacity = rank_questions(q).of(a.fullest).cluster.device().memory_bytes;
  a.peak_on_host = peak_host_bytes(a.memory);
  int const last = placement_of(q).device_of(0, last_with_head(stages));
  a.peak_of_last = a.memory[static_cast<std::size_t>(last)].all();
  a.every_stage_works = every_stage_works(q);
  a.fits = a.every_stage_works && fits(q, a.memory, c);
  a.operations = step_operations(q.model, q.sequence, q.batch);
  a.kind = run_kind_of(q);
  a.gap = interval_gap_of(q, s.largest);
  a.beyond = unmeasured_in(q, s);
  if (a.has_interval()) {
    bool const is_own = s.steps.kinds[static_cast<std::size_t>(a.kind)].own_runs > 0;
    double const of_constants = is_own ? step_variance(q, stages, c, s.doubts) : 0;
    ratios const around = ratios_of(s.steps, a.kind, a.beyond.size(), of_constants);
    a.low = a.step.seconds * around.low;
    a.high = a.step.seconds * around.high;
  }
  a.has_peak_interval = a.has_interval() && s.peaks.kinds[static_cast<std::size_t>(a.kind)].runs > 0;
  if (a.has_peak_interval) {
    ratios const around = ratios_of(s.peaks, a.kind, a.beyond.size());
    a.low_peak = a.peak * around.low;
    a.high_peak = a.peak * around.high;
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

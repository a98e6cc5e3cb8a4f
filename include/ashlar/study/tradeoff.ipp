// Definitions of tradeoff.hpp.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>
#include <ashlar/study/tradeoff.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

ASHLAR_INLINE diagnosis check(layered_model const& model, pipeline_choice const& choice) {
  for (int count : {model.layers, model.micro_batch, choice.p.value, choice.m.value})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  tick sum = 0;
  for (tick time : {model.forward, model.backward, model.transfer, model.reduction}) {
    if (time < 0) return {.broken = rule::no_duration_is_negative, .number = time};
    sum = saturating_sum(sum, time);
  }
  tick const all = saturating_product(saturating_product(sum, model.layers), choice.m.value);
  if (all >= max_tick) return {.broken = rule::ticks_fit, .number = sum};
  if (choice.own == nullptr)
    return choice.entry != nullptr ? diagnosis{} : diagnosis{.broken = rule::every_pass_is_present};
  if (diagnosis const d = check_form(*choice.own); !d.ok()) return d;
  if (choice.own->device_count() != choice.p.value)
    return wrong_size(table::devices_of_placement, choice.own->device_count(), choice.p.value);
  if (int const m = choice.own->micro_batch_count(); m == 0 || m % choice.m.value != 0)
    return wrong_size(table::micro_batches_of_schedule, m, choice.m.value);
  return {};
}

ASHLAR_INLINE schedule step_schedule(layered_model const& model, pipeline_choice const& choice) {
  if (diagnosis const d = check(model, choice); !d.ok()) refuse(d);
  schedule const alike = choice.own != nullptr
                             ? *choice.own
                             : choice.entry->make({.p = choice.p, .m = choice.m, .v = choice.loops});
  int const pieces = alike.stage_count() * (alike.micro_batch_count() / choice.m.value);
  if (diagnosis const d = multiple_of(parameter::layer_count, model.layers, pieces); !d.ok()) refuse(d);
  tick const layers = model.layers / pieces;
  tick const stop = choice.blocks ? model.transfer : 0;
  tick const backward = layers * model.backward + stop;
  stage_cost const stage{.forward = layers * model.forward + stop,
                         .backward_input = backward / 2,
                         .backward_weight = backward - backward / 2};
  costs const cost(stage, choice.blocks ? 0 : model.transfer);
  if (choice.own != nullptr) return retime(alike, cost);
  return choice.entry->make({.p = choice.p, .m = choice.m, .cost = cost, .v = choice.loops});
}

}  // namespace ashlar

namespace ashlar::study_detail {

// Time of a step_schedule.
ASHLAR_INLINE tick time_of_step(layered_model const& model, pipeline_choice const& choice,
                                schedule const& s) {
  tick const end = makespan(s), reduction = reduction_time(model, s);
  tick last = end;
  for (int d = 0; d < s.device_count(); ++d) {
    auto const& order = nth(s.order, d);
    // Ready times ascend where a stage's last weight pass is met: backwards over the order, once a
    // stage.
    std::vector<tick> ready;
    std::vector<char> met(static_cast<std::size_t>(s.stage_count()), 0);
    for (std::size_t i = order.size(); i-- > 0;) {
      pass const adds = order[i].is_pair() ? order[i].beside : order[i].what;
      if (!gives_weight_gradient(adds.kind)) continue;
      char& seen = nth(met, adds.stage);
      if (seen != 0) continue;
      seen = 1;
      ready.push_back(s.end_of(order[i], d));
    }
    tick free = choice.blocks ? end : 0;
    for (std::size_t i = ready.size(); i-- > 0;) free = (ready[i] > free ? ready[i] : free) + reduction;
    last = free > last ? free : last;
  }
  return last;
}

// Counts no backward without training.
ASHLAR_INLINE double share_of_step(layered_model const& model, pipeline_choice const& choice,
                                   execution_mode mode, tick step) {
  if (step < 1) return 0;
  tick const passes = model.forward + (mode == execution_mode::training ? model.backward : 0);
  return static_cast<double>(passes) * model.layers * choice.m.value / choice.p.value
         / static_cast<double>(step);
}

}  // namespace ashlar::study_detail

namespace ashlar {

ASHLAR_INLINE tick step_time(layered_model const& model, pipeline_choice const& choice) {
  return study_detail::time_of_step(model, choice, step_schedule(model, choice));
}

ASHLAR_INLINE std::optional<tick> least_step_time(layered_model const& model,
                                                  pipeline_choice const& choice) {
  schedule const s = step_schedule(model, choice);
  if (!check(s).ok()) return std::nullopt;
  std::optional<bound> const least = schedule_bound(s);
  if (!least) return std::nullopt;
  int const behind = s.mode == execution_mode::inference ? 0
                     : choice.blocks                     ? chunk_count(s.where, 0)
                                                         : 1;
  return least->makespan + behind * reduction_time(model, s);
}

ASHLAR_INLINE double utilisation(layered_model const& model, pipeline_choice const& choice) {
  schedule const s = step_schedule(model, choice);
  return study_detail::share_of_step(model, choice, s.mode,
                                     study_detail::time_of_step(model, choice, s));
}

ASHLAR_INLINE double utilisation_of(layered_model const& model, pipeline_choice const& choice,
                                    tick step) {
  return study_detail::share_of_step(model, choice, step_schedule(model, choice).mode, step);
}

}  // namespace ashlar

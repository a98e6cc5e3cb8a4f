// Predictions of training runs.
#pragma once

#include "doors/knock.hpp"
#include "predicted_runs.hpp"
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/step/calibrate.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace doors {

// Makes a call; it may say that a run cannot be predicted.
template <class Call>
void ask(Call call) {
  knock([&] {
    try {
      call();
    } catch (cost::unpredictable const&) {
    }
  });
}

inline void change_question(dice& d, cost::question& q) {
  int* const counts[] = {&q.cluster.kinds.front().devices,
                         &q.cluster.device().per_node,
                         &q.sequence,
                         &q.batch,
                         &q.layout.micro_batch,
                         &q.layout.tensor,
                         &q.layout.pipeline,
                         &q.layout.chunks,
                         &q.layout.context,
                         &q.layout.expert,
                         &q.layout.expert_tensor,
                         &q.layout.data};
  auto const change_real = [&](double& x) { x = extreme_real(d, x); };
  cost::layer& l =
      d.percent(80) && !q.model.kinds.empty() ? one_of(d, q.model.kinds) : q.model.predictor;
  double* const of_layers[] = {
      &l.mix.heads,         &l.mix.groups,  &l.mix.head,          &l.mix.window,        &l.mix.chunk,
      &l.mix.kv_rank,       &l.mix.chosen,  &l.mix.index_heads,   &l.mix.index_head,    &l.mix.inner,
      &l.mix.keys,          &l.mix.beside,  &l.feed.width,        &l.feed.experts,      &l.feed.chosen,
      &l.feed.latent,       &l.feed.beside, &l.feed.expert_width, &l.feed.shared_width, &l.feed.groups,
      &l.feed.chosen_groups};
  double* const of_models[] = {&q.model.hidden, &q.model.vocabulary, &q.model.embedding,
                               &q.model.beside};
  double* const of_machines[] = {&q.cluster.device().memory_bytes,
                                 &q.cluster.device().memory_bandwidth,
                                 &q.cluster.device().inside,
                                 &q.cluster.device().outside,
                                 &q.cluster.device().units,
                                 &q.cluster.device().exponentials,
                                 &q.cluster.device().power,
                                 &q.cluster.device().peak.bf16,
                                 &q.cluster.device().peak.fp32,
                                 &q.cluster.device().host.link,
                                 &q.cluster.device().host.memory_bytes,
                                 &q.cluster.device().host.memory_bandwidth};
  switch (d.between(0, 11)) {
    case 0:
    case 1:
      return static_cast<void>(*counts[d.between(0, 11)] =
                                   d.percent(70) ? d.between(0, 9) : extreme(d, 2));
    case 2:
      return change_real(*of_layers[d.between(0, 17)]);
    case 3:
      return change_real(*of_models[d.between(0, 3)]);
    case 4:
      return change_real(*of_machines[d.between(0, 11)]);
    case 5:
      q.model.predictions = d.percent(50) ? d.between(0, 3) : extreme(d, 1);
      q.model.repeats = d.percent(50);
      return;
    case 6:
      return change_list(d, q.model.layers);
    case 7:
      l.mix.kind = any_of<cost::mixer_kind>(d, 3);
      l.feed.kind = any_of<cost::feed_forward_kind>(d, 2);
      return;
    case 8:
      q.layout.sharding = any_of<cost::sharding>(d, 3);
      q.layout.recompute = static_cast<cost::recomputation>(d.between(0, 255));
      q.layout.recompute_in.first = extreme(d, 1);
      q.layout.offload = {static_cast<cost::offloaded>(d.between(0, 255)),
                          {extreme(d, 1), {}},
                          d.percent(50),
                          any_of<cost::offloaded_weights>(d, 2)};
      q.program.format = any_of<cost::number_format>(d, 5);
      q.program.kind = any_of<cost::program_kind>(d, 3);
      q.program.attention = any_of<cost::attention_kernel>(d, 6);
      q.program.sequence_parallel = any_of<cost::sequence_split>(d, 2);
      q.program.dispatches_8_bits = d.percent(50);
      q.program.delays_weights = d.percent(50);
      q.program.sums_copies_once = d.percent(50);
      q.program.scatters_once = d.percent(50);
      q.program.sums_in_32_bits = d.percent(50);
      q.program.holds_frozen_copy = d.percent(50);
      q.program.frozen_forwards = extreme(d, 0);
      if (d.percent(20)) q.teachers.push_back(q.model);
      q.layout.shard_ranks = d.percent(70) ? d.between(0, 9) : extreme(d, 1);
      q.layout.weight_ranks = d.percent(70) ? d.between(0, 4) : extreme(d, 1);
      q.cluster.device().built = any_of<cost::generation>(d, 8);
      return;
    case 9:
      q.model.frozen = {d.percent(50), d.percent(50),
                        std::vector<bool>(static_cast<std::size_t>(d.between(0, 30)), true)};
      q.layout.counts_ends = d.percent(50);
      q.cluster.device().domain = extreme(d, 8);
      return;
    case 10:
      q.measured.stages.resize(static_cast<std::size_t>(d.between(0, 4)), {1, 2, -1});
      if (!q.measured.stages.empty() && d.percent(50)) change_real(one_of(d, q.measured.stages).forward);
      if (!q.measured.stages.empty() && d.percent(50)) change_real(one_of(d, q.measured.stages).weights);
      if (d.percent(30)) change_real(q.measured.transfer);
      return;
    default:
      q.layout.order = &some_entry(d);
  }
}

inline void of_predictions(dice& d) {
  namespace t = cost::testing;
  cost::question q = t::random_question(d);
  schedule own = some_entry(d).make({devices{2}, micro_batches{4}});
  std::string layout;
  for (int changes = d.between(0, 3); changes > 0; --changes) change_question(d, q);
  if (d.percent(10)) {
    for (int changes = d.between(0, 2); changes > 0; --changes) change(d, own);
    q.layout.order = own;
  }
  if (d.percent(20)) {
    char const letters[] = "Et|(m),*0123456789L x";
    for (int i = d.between(0, 24); i > 0; --i) layout += letters[d.between(0, 20)];
    ask([&] { q.layout.stages = cost::read_layout(layout, q.model.predictions); });
  }
  if (q.layout.pipeline * 1.0 * q.layout.chunks > 64 || q.model.layers.size() > 64)
    return;  // each stage is looked at
  cost::constants c = t::round_constants();
  if (d.percent(20)) {
    double& x = c.*cost::constant_names[static_cast<std::size_t>(d.between(0, 37))].value;
    x = extreme_real(d, x);
  }
  ask([&] {
    cost::answer const a = predict_run(q, c, {});
    demand(std::isfinite(a.step.seconds) && a.step.seconds >= 0 && a.peak >= 0 && a.operations >= 0);
    demand(a.step.bubble >= 0 && a.step.passes >= 0);
    sum_of_passes(a.step);
  });
  ask([&] { cost::check(q); });
  ask([&] {
    if (parameters(q.model) < 0 || trained_parameters(q.model) < 0) cost::check(q);
    prediction_parameters(q.model);
    step_operations(q.model, q.sequence, q.batch);
  });
  if (d.percent(10) && q.cluster.device_count() < 64 && q.batch < 1000) {
    cost::open_sizes open;
    bool* const each[] = {&open.micro_batch, &open.tensor, &open.pipeline, &open.chunks, &open.context,
                          &open.expert,      &open.data,   &open.shares,   &open.again,  &open.ends};
    for (bool* one : each) *one = d.percent(40);
    ask([&] {
      int calls = 0;
      auto const found = best_layouts(q, open, c, static_cast<std::size_t>(d.between(0, 3)),
                                      [&](cost::layouts_found const&) { return ++calls < 2; });
      for (cost::ranked_layout const& r : found.best) demand(std::isfinite(r.seconds) && r.seconds > 0);
    });
  }
  if (d.percent(3)) {
    std::vector<cost::question> runs(static_cast<std::size_t>(d.between(0, 3)), q);
    std::vector<double> measured(static_cast<std::size_t>(d.between(0, 3)), 1.0);
    if (!measured.empty() && d.percent(50)) one_of(d, measured) = extreme_real(d, 1);
    cost::constant_spreads spread{};
    for (double& each : spread) each = d.percent(50) ? 0.0 : 0.2;
    ask([&] { calibrate(runs, measured, c, spread); });
  }
}

}  // namespace doors

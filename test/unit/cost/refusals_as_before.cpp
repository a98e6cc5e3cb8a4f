// Runs that cannot be predicted have the reason that they had: random ones, and those with a size that
// is none. The first values of public types are what they were.
#include "any_run.hpp"
#include "predicted_numbers.hpp"
#include "random_cases.hpp"
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/shared_batch.hpp>
#include <ashlar/cost/step/calibrate.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/once_a_step.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <iterator>
#include <limits>

namespace ashlar::cost::testing {

namespace {

// One size of a question that is none, or does not divide.
void spoil(random_case::dice& roll, question& q) {
  constexpr double wrong[] = {
      -1, 0, 0.5, 1, 3, 1e15, 2e15, 1e30, std::numeric_limits<double>::quiet_NaN()};
  layout& l = q.layout;
  machine& m = q.cluster.kinds.back().device;
  layer& some =
      q.model
          .kinds[static_cast<std::size_t>(roll.between(0, static_cast<int>(q.model.kinds.size()) - 1))];
  int* const counts[] = {&l.micro_batch,
                         &l.tensor,
                         &l.pipeline,
                         &l.chunks,
                         &l.context,
                         &l.expert,
                         &l.expert_tensor,
                         &l.data,
                         &l.shard_ranks,
                         &l.weight_ranks,
                         &q.sequence,
                         &q.batch,
                         &m.domain,
                         &m.per_node,
                         &q.cluster.kinds.back().devices,
                         &q.model.predictions,
                         &q.model.layers.back()};
  double* const sizes[] = {&q.model.hidden,
                           &q.model.vocabulary,
                           &q.model.embedding,
                           &q.model.beside,
                           &some.mix.heads,
                           &some.mix.groups,
                           &some.mix.head,
                           &some.mix.window,
                           &some.mix.kv_rank,
                           &some.mix.nope,
                           &some.mix.value_head,
                           &some.mix.inner,
                           &some.feed.width,
                           &some.feed.experts,
                           &some.feed.chosen,
                           &some.feed.expert_width,
                           &some.feed.groups,
                           &some.feed.chosen_groups,
                           &m.memory_bytes,
                           &m.memory_bandwidth,
                           &m.inside,
                           &m.outside,
                           &m.units,
                           &m.power,
                           &m.peak.bf16,
                           &m.products,
                           &m.exchange,
                           &m.pair,
                           &m.host.link,
                           &m.host.memory_bytes,
                           &q.cluster.between_kinds};
  if (roll.percent(50)) {
    int& size = *counts[roll.between(0, static_cast<int>(std::size(counts)) - 1)];
    size = roll.percent(70) ? roll.between(-1, 3) : 1'000'000'000;
  } else {
    *sizes[roll.between(0, static_cast<int>(std::size(sizes)) - 1)] = wrong[roll.between(0, 8)];
  }
}

// Whether it can be predicted, and what stands against it.
row refusal_of(question const& q, constants const& c) {
  try {
    check(q);
    predict_run(q, c, {});
    return {0, 0, 0};
  } catch (unpredictable const& e) {
    return {1.0 + static_cast<int>(e.broken), static_cast<double>(e.number),
            static_cast<double>(e.limit)};
  } catch (violation const& e) {
    return {100.0 + static_cast<int>(e.why.broken), 0, 0};
  }
}

}  // namespace

TEST_CASE("as before: what cannot be predicted, and why") {
  random_case::dice roll(81);
  constants const c = distinct_constants();
  recorded_rows::sums sums;
  table rows;
  for (int group = 0; group < random_cases(24); ++group) {
    for (int i = 0; i < 300; ++i) {
      question q = any_run(roll);
      row const as_it_is = refusal_of(q, c);
      spoil(roll, q);
      sums.add({{as_it_is, refusal_of(q, c)}});
    }
    rows.push_back(sums.take());
  }
  recorded_rows::must_be_as_before("predict/refusals_as_before.txt", rows);
}

TEST_CASE("as before: first values of what is public") {
  question const q;
  row questions{q.model.hidden,           q.model.vocabulary,        q.model.embedding,
                q.model.beside,           q.cluster.between_kinds,   q.measured.transfer,
                measured_stage{}.forward, measured_stage{}.backward, measured_stage{}.weights};
  layout const& l = q.layout;
  put(questions, q.sequence, q.batch, q.model.predictions, q.model.is_tied, q.model.repeats,
      q.model.lora.rank, l.micro_batch, l.tensor, l.pipeline, l.chunks, l.context, l.expert,
      l.expert_tensor, l.data, l.shard_ranks, l.weight_ranks, l.recompute_in.first, l.offload.in.first,
      l.offload.optimizer, l.spreads_losses, l.counts_ends, l.pipeline_inside, q.cluster.kinds.size(),
      q.cluster.device_count(), q.program.dispatches_8_bits, q.program.delays_weights,
      q.program.sums_copies_once);
  machine const m;
  put(questions, m.memory_bytes, m.memory_bandwidth, m.inside, m.pair, m.outside, m.domain, m.per_node,
      m.units, m.exponentials, m.power, m.host.link, m.host.memory_bytes, m.host.memory_bandwidth,
      m.products, m.exchange, m.is_measured);
  for (double const each : {m.peak.fp32, m.peak.tf32, m.peak.fp16, m.peak.bf16, m.peak.fp8, m.peak.fp4})
    put(questions, each);
  mixer const mix;
  feed_forward const feed;
  measured_layer const measured;
  row const layers{mix.heads,
                   mix.groups,
                   mix.head,
                   mix.window,
                   mix.chunk,
                   mix.q_rank,
                   mix.kv_rank,
                   mix.nope,
                   mix.rope,
                   mix.value_head,
                   mix.inner,
                   mix.keys,
                   mix.steps,
                   mix.rank,
                   mix.beside,
                   feed.width,
                   feed.experts,
                   feed.chosen,
                   feed.expert_width,
                   feed.shared_width,
                   feed.latent,
                   feed.groups,
                   feed.chosen_groups,
                   feed.beside,
                   feed.beside_expert,
                   measured.forward,
                   measured.backward,
                   measured.attends_forward,
                   measured.attends_backward,
                   measured.parameters,
                   measured.kept,
                   measured.output,
                   static_cast<double>(measured.tensor)};
  answer const a;
  spread_table const table_of;
  spread const one;
  measured_sizes const sizes;
  kept_activations const kept;
  memory_parts const held;
  device_seconds const device;
  once_a_step const once;
  row others{a.low,
             a.high,
             a.peak,
             a.peak_of_last,
             a.capacity,
             a.peak_on_host,
             a.low_peak,
             a.high_peak,
             a.operations,
             a.step.seconds,
             a.step.passes,
             a.step.hidden,
             a.step.bubble,
             a.step.stragglers,
             a.step.data,
             a.step.optimizer,
             a.step.update,
             a.step.run.further,
             a.step.run.tick,
             table_of.low,
             table_of.high,
             table_of.beyond,
             one.within,
             one.between,
             kept.bytes,
             kept.whole,
             kept.leaving,
             kept.largest,
             held.all(),
             held.host,
             device.all,
             device.forward,
             device.backward,
             device.largest,
             once.data,
             once.optimizer,
             ratios{}.low,
             ratios{}.high,
             spreads{}.host_link,
             seconds_each_way{}.forward,
             seconds_each_way{}.backward,
             seconds_each_way{}.weights};
  put(others, a.fullest, a.has_peak_interval, a.fits, a.every_stage_works, a.step.device, one.runs,
      one.sources, one.own_runs, sizes.sequence, sizes.devices, sizes.pipeline, sizes.tensor,
      sizes.context, sizes.expert, measured_kernels{}.bits, measured_kernels{}.has_experts);
  dealt_piece const piece;
  dealt_pieces const pieces;
  put(others, piece.first, piece.end, piece.pace, piece.through, piece.resident, piece.kept,
      pieces.parts, pieces.room, dealing{}.seconds, dealing{}.bound, shared_batch{}.sum,
      ranked_layout{}.seconds, ranked_layout{}.peak, ranked_layout{}.bound, layouts_found{}.tried,
      layouts_found{}.is_whole, calibration{}.misfit);
  for (named_constant const& each : constant_names) put(others, constants{}.*each.value);
  product const p;
  put(others, p.m, p.n, p.k, p.count, p.is_low, p.is_one_kernel);
  recorded_rows::must_be_as_before(
      "predict/defaults_as_before.txt",
      {questions, layers, numbers_of(pass_terms{}), numbers_of(stage_needs{}), numbers_of(layer_work{}),
       numbers_of(stage{}), others});
}

}  // namespace ashlar::cost::testing

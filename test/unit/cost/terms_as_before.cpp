// All terms of predictions of random runs with every trait of the room are what they were before, and
// what cannot be predicted has the reason that it had. Other tests say what is right; these notice what
// changes.
#include "any_run.hpp"
#include "random_cases.hpp"
#include "recorded_rows.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/pairs.hpp>
#include <ashlar/cost/step/step_bound.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

namespace ashlar::cost::testing {

namespace {

using recorded_rows::put;
using recorded_rows::row;
using recorded_rows::table;

row numbers_of(pass_terms const& p) {
  return {p.products, p.attention, p.scan,     p.bytes, p.tensor,  p.expert,  p.context,
          p.sharding, p.offload,   p.transfer, p.host,  p.weights, p.measured};
}

row numbers_of(stage_needs const& n) {
  row made;
  for (parameter_counts const& each : {n.held.all, n.held.trained, n.held.backward})
    put(made, each.dense, each.expert);
  put(made, n.summed, n.kept, n.left, n.moving, n.whole, n.logits);
  return made;
}

row numbers_of(layer_work const& w) {
  row made{w.scores,
           w.all_scores,
           w.head,
           w.forward_bytes,
           w.backward_bytes,
           w.quantised_forward,
           w.quantised_backward,
           w.scan,
           w.tensor_bytes,
           w.expert_bytes,
           w.gather_bytes,
           w.context_bytes,
           w.experts};
  put(made, w.tensor_count, w.parts, w.products.size());
  double number = 0, m = 0, n = 0, k = 0, count = 0, low = 0, one = 0;
  for (product const& each : w.products) {
    number += 1;
    m += number * each.m;
    n += number * each.n;
    k += number * each.k;
    count += number * each.count;
    low += each.is_low ? number : 0;
    one += each.is_one_kernel ? number : 0;
  }
  put(made, m, n, k, count, low, one);
  return made;
}

row numbers_of(stage_parts const& parts) {
  row made;
  for (auto const* list : {&parts.forward, &parts.backward}) {
    recorded_rows::tag all;
    for (pass_part const& each : *list)
      all.add(static_cast<int>(each.on), each.duration, each.of_weights ? 1 : 0);
    put(made, all.sum());
  }
  return made;
}

row numbers_of(answer const& a, question const& q) {
  step_terms const& s = a.step;
  fit const fits = a.memory_fit;
  row made{s.seconds,
           s.passes,
           s.hidden,
           s.bubble,
           s.stragglers,
           s.data,
           s.optimizer,
           s.update,
           s.run.tick,
           s.run.further,
           a.low,
           a.high,
           a.low_peak,
           a.high_peak,
           a.peak,
           a.peak_of_last,
           a.peak_on_host,
           a.capacity,
           a.operations,
           parameters(q.model),
           active_parameters(q.model),
           trained_parameters(q.model),
           prediction_parameters(q.model),
           a.tokens_per_second(q),
           a.flops_per_device(q)};
  put(made, s.device, a.fullest, a.fits, a.every_stage_works, static_cast<int>(fits),
      static_cast<int>(a.kind), static_cast<int>(a.gap), a.beyond.size(), unmeasured_facts(q).size());
  for (unmeasured const each : a.beyond) made.back() += 100 * (1 << static_cast<int>(each));
  return made;
}

row numbers_of(stage const& s) {
  row made;
  put(made, s.first, s.count, s.has_embedding, s.has_head, s.predictions, s.losses, s.streams,
      s.streams_after());
  return made;
}

// All that a prediction of this run is made of.
std::vector<table> numbers_of(question const& q, constants const& c, spreads const& s) {
  answer const a = predict_run(q, c, s);
  std::vector<stage> const stages = stages_of(q);
  std::vector<table> made(8);
  made[0] = {numbers_of(a, q)};
  double const least = q.layout.is_executed() && q.layout.published() != nullptr
                           ? least_step_seconds(q, stages, {}, c)
                           : 0;
  put(made[0][0], least, run_kind_of(q) == run_kind::sharded, is_spread(stages), last_with_head(stages));
  made[1] = {numbers_of(sum_of_passes(a.step))};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    row passes = numbers_of(a.step.of_stages[i].forward);
    for (double const each : numbers_of(a.step.of_stages[i].backward)) passes.push_back(each);
    put(passes, a.step.micro_batches[i], a.step.of_stages[i].weight_seconds());
    made[2].push_back(passes);
    made[3].push_back(numbers_of(stages[i]));
    put(made[3].back(), bytes_after(q, stages[i]), bytes_before(q, stages[i]));
  }
  for (stage_needs const& each : needs_of(q, stages, false, c)) made[4].push_back(numbers_of(each));
  for (memory_parts const& m : a.memory)
    made[5].push_back({m.parameters, m.gradients, m.optimizer, m.activations, m.logits, m.gathered,
                       m.framework, m.host});
  for (layer const& l : q.model.kinds) {
    made[6].push_back(numbers_of(work_of(q, l)));
    made[6].push_back(numbers_of(work_again(q, l, q.layout.recompute)));
    made[6].push_back(numbers_of(adapter_work(q, l)));
    made[6].push_back(numbers_of(shared_expert_work(q, l.feed)));
  }
  made[7].push_back(numbers_of(parts_in_pairs(q, stages[0], c, 1e-9)));
  return made;
}

// One size of a question that is none, or does not divide.
void spoil(random_case::dice& roll, question& q) {
  constexpr double wrong[] = {-1, 0, 3, 1e16, std::numeric_limits<double>::quiet_NaN()};
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
    *sizes[roll.between(0, static_cast<int>(std::size(sizes)) - 1)] = wrong[roll.between(0, 4)];
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

TEST_CASE("as before: all terms of predictions of runs of every kind") {
  random_case::dice roll(77);
  constants const c = distinct_constants();
  spreads const s = wide_spreads();
  recorded_rows::sums sums;
  table rows;
  for (int group = 0; group < random_cases(24); ++group) {
    for (int i = 0; i < 200; ++i) sums.add(numbers_of(any_question(roll, c), c, s));
    rows.push_back(sums.take());
  }
  recorded_rows::must_be_as_before("predict/terms_as_before.txt", rows);
}

TEST_CASE("as before: what cannot be predicted, and why") {
  random_case::dice roll(81);
  constants const c = distinct_constants();
  recorded_rows::sums sums;
  table rows;
  for (int group = 0; group < random_cases(24); ++group) {
    for (int i = 0; i < 200; ++i) {
      question q = any_run(roll);
      row const as_it_is = refusal_of(q, c);
      spoil(roll, q);
      sums.add({{as_it_is, refusal_of(q, c)}});
    }
    rows.push_back(sums.take());
  }
  recorded_rows::must_be_as_before("predict/refusals_as_before.txt", rows);
}

}  // namespace ashlar::cost::testing

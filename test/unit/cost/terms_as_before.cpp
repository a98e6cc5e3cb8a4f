// All terms of predictions of random runs with every trait of the room are what they were before. Other
// tests say what is right; these notice what changes.
#include "any_run.hpp"
#include "predicted_numbers.hpp"
#include "random_cases.hpp"
#include <ashlar/cost/step/adapter_work.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/pairs.hpp>
#include <ashlar/cost/step/step_bound.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace ashlar::cost::testing {

namespace {

row tags_of(stage_parts const& parts) {
  row made;
  for (auto const* list : {&parts.forward, &parts.backward}) {
    recorded_rows::tag all;
    for (pass_part const& each : *list)
      all.add(static_cast<int>(each.on), each.duration, each.of_weights ? 1 : 0);
    put(made, all.sum());
  }
  return made;
}

row answer_in_numbers(answer const& a, question const& q) {
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

// All that a prediction of this run is made of.
std::vector<table> all_numbers_of(question const& q, constants const& c, spreads const& s) {
  answer const a = predict_run(q, c, s);
  std::vector<stage> const stages = stages_of(q);
  std::vector<table> made(8);
  made[0] = {answer_in_numbers(a, q)};
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
    made[6].push_back(numbers_of(adapter_work(q, l, adapter_pass::both_gradients)));
    made[6].push_back(numbers_of(shared_expert_work(q, l.feed)));
  }
  made[7].push_back(tags_of(parts_in_pairs(q, stages[0], c, 1e-9)));
  return made;
}

}  // namespace

TEST_CASE("as before: all terms of predictions of runs of every kind") {
  random_case::dice roll(77);
  constants const c = distinct_constants();
  spreads const s = wide_spreads();
  recorded_rows::sums sums;
  table rows;
  for (int group = 0; group < random_cases(24); ++group) {
    for (int i = 0; i < 200; ++i) sums.add(all_numbers_of(any_question(roll, c), c, s));
    rows.push_back(sums.take());
  }
  recorded_rows::must_be_as_before("predict/terms_as_before.txt", rows);
}

}  // namespace ashlar::cost::testing

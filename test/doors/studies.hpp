// Schedules side by side, and timelines.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/study/compare.hpp>
#include <ashlar/study/schedule_slack.hpp>
#include <ashlar/study/timeline_difference.hpp>
#include <ashlar/study/tradeoff.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline divided_model some_model(dice& d) {
  divided_model m;
  m.piece_count = d.percent(70) ? d.between(1, 8) : extreme(d, 4);
  m.kept_percent = d.percent(70) ? d.between(0, 100) : extreme(d, 50);
  m.causal = {extreme(d, 1), extreme(d, 2)};
  if (d.percent(70)) m.causal = {};
  for (int changes = d.between(0, 2); changes > 0; --changes) change_cost(d, m.cost);
  return m;
}

inline void of_studies(dice& d) {
  catalog::entry const& e = some_entry(d);
  schedule s = e.make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  divided_model const model = some_model(d);
  auto const look_at = [&](comparison const& c) {
    demand(c.makespan >= 0 && c.span >= 0 && c.bubble_rate >= 0 && c.bubble_rate <= 1);
    demand(c.overhead >= 0 && c.overhead <= 1 && c.transfers >= 0);
    for (double peak : c.peaks) demand(peak >= 0);
    if (auto const least = comparison_bound(c))
      demand(least->makespan <= c.makespan && least->span <= c.span);
  };
  knock([&] { look_at(compare(s, model)); });
  catalog::shape shape{devices{some_count(d, 5)}, micro_batches{some_count(d, 9)}};
  if (d.percent(20)) shape.v = chunks{some_count(d, 4)};
  knock([&] { look_at(compare(e, shape, model)); });
  knock([&] { count_transfers(s); });
  knock([&] {
    for (link_slack const& l : link_slacks(s)) demand(l.slack >= 0 && l.transfers > 0);
  });
  knock([&] { count_weight_copies(s.where); });

  layered_model layers;
  tick layered_model::*const ticks[] = {&layered_model::forward, &layered_model::backward,
                                        &layered_model::transfer, &layered_model::reduction};
  if (d.percent(50)) layers.*ticks[d.between(0, 3)] = extreme(d, tick{5});
  if (d.percent(20)) layers.layers = extreme(d, 64);
  if (d.percent(20)) layers.micro_batch = extreme(d, 1);
  pipeline_choice choice{.entry = &e, .p = shape.p, .loops = shape.v, .m = shape.m};
  choice.blocks = d.percent(50);
  if (d.percent(50)) choice.own = &s;
  knock([&] {
    tick const step = step_time(layers, choice);
    double const used = utilisation(layers, choice);
    demand(step >= 0 && used >= 0);
    // A schedule that lacks passes takes less time than a step.
    if (choice.own == nullptr || check(s).ok()) demand(used <= 1);
    if (auto const least = least_step_time(layers, choice)) demand(*least <= step);
  });

  std::vector<paired_pass> passes(static_cast<std::size_t>(d.between(0, 6)));
  for (std::size_t i = 0; i < passes.size(); ++i)
    passes[i] = {.what = {any_of<pass_kind>(d, pass_kinds - 1), d.between(0, 2), d.between(0, 2)},
                 .device = d.between(0, 2),
                 .start = d.between(0, 9),
                 .end = d.between(5, 20)};
  if (!passes.empty()) {
    if (d.percent(20)) change_pass(d, one_of(d, passes).what);
    if (d.percent(20)) put(d, passes, &paired_pass::device);
    if (d.percent(20)) put(d, passes, &paired_pass::start);
    if (d.percent(20)) put(d, passes, &paired_pass::planned_end);
  }
  int const stage_count = d.percent(80) ? 3 : extreme(d, 3), m = d.percent(80) ? 3 : extreme(d, 3);
  knock([&] { path_of_difference(passes, stage_count, m); });
}

}  // namespace doors

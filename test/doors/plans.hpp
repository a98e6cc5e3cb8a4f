// Plans for a model on a cluster, choices, and cuts.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/training/partition.hpp>
#include <ashlar/plan/training/planner.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline void change_question(dice& d, plan_question& q) {
  device_kind& kind = q.kinds[0];
  double* const reals[] = {&kind.machine.flops,      &kind.machine.inside,     &kind.machine.between,
                           &kind.machine.memory,     &kind.constants.products, &kind.constants.exchange,
                           &q.model.hidden,          &q.model.feed_forward,    &q.model.heads,
                           &q.model.key_value_heads, &q.model.vocabulary,      &q.model.sequence,
                           &q.model.experts,         &q.model.value_bytes,     &q.margin,
                           &q.between_kinds,         &q.widths.whole,          &q.widths.scores};
  int* const counts[] = {&kind.count,
                         &kind.machine.node_size,
                         &q.model.layers,
                         &q.batch,
                         &q.largest_micro_batch,
                         &q.tensor,
                         &q.kind,
                         &q.chunks[0]};
  if (d.percent(60)) {
    double& chosen = *reals[static_cast<std::size_t>(d.between(0, 17))];
    chosen = extreme_real(d, chosen);
  } else {
    int& chosen = *counts[static_cast<std::size_t>(d.between(0, 7))];
    int const given = extreme(d, chosen);
    chosen = given > 100 && given < (1 << 24) ? 4 : given;
  }
}

inline void of_plans(dice& d) {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
  q.kinds[0].machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 2};
  q.kinds[0].count = 4;
  q.batch = 4;
  q.largest_micro_batch = 1;
  q.tensor = 1;
  for (int changes = d.between(0, 2); changes > 0; --changes) change_question(d, q);
  knock([&] {
    plan_answer const a = answer(q, {catalog::find("1f1b")}, static_cast<std::size_t>(d.between(0, 3)),
                                 [](plan_phase, std::size_t, std::size_t) {});
    for (planned_step const& step : a.best)
      demand(step.seconds >= step.bound && step.bytes <= step.budget);
  });
  std::vector<std::vector<variant>> things(static_cast<std::size_t>(d.between(0, 4)));
  for (auto& thing : things) {
    thing.resize(static_cast<std::size_t>(d.between(0, 3)));
    for (variant& v : thing) v = {d.between(0, 9), d.between(0, 9), 0};
    if (d.percent(20)) put(d, thing, &variant::memory);
    if (d.percent(20)) put(d, thing, &variant::time);
  }
  byte_count const room = d.percent(80) ? d.between(0, 30) : extreme(d, byte_count{9});
  knock([&] {
    choice const c = choose(things, room);
    demand(c.missing > 0 || c.what.memory <= room);
  });
  cut_costs cut{.layer = std::vector<double>(static_cast<std::size_t>(d.between(0, 6)), 1.0),
                .volume = std::vector<double>(static_cast<std::size_t>(d.between(0, 6)), 1.0),
                .link = std::vector<double>(static_cast<std::size_t>(d.between(0, 4)), 1.0),
                .repeats = d.percent(80) ? 3 : extreme_real(d, 3)};
  for (auto* list : {&cut.layer, &cut.volume, &cut.link})
    if (!list->empty() && d.percent(20)) one_of(d, *list) = extreme_real(d, 1);
  int const count = d.percent(80) ? d.between(0, 5) : extreme(d, 3);
  knock([&] {
    std::vector<int> const sizes = best_partition(cut, count);
    demand(pipeline_time(cut, sizes) >= 0);
  });
  knock([&] { uniform_partition(extreme(d, 9), d.between(-2, 5), extreme(d, 1), extreme(d, 1)); });
}

}  // namespace doors

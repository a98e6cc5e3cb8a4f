// All ways to train a model on devices alike.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/layer_division.hpp>
#include <ashlar/plan/training_plan.hpp>

#include <vector>

namespace ashlar {

namespace plan_detail {

// The plan with its layers dealt out alike, and once more as evenly as the head allows, if that differs.
constexpr void add_divided(plan_question const& q, training_plan plan,
                           std::vector<training_plan>& made) {
  placement const where = placement_of(plan);
  int const stage_count = where.stage_count();
  plan.layers = uniform_partition(q.model.layers, stage_count);
  made.push_back(plan);
  std::vector<int> weighed;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr) {
    std::vector<double> each;
    for (listed_layer const& l : list->layers) each.push_back(layer_seconds(l, plan.layout).both());
    weighed = weighed_division(each, stage_count);
  } else {
    weighed = weighed_division(q.model.layers,
                               layer_seconds(q.model, plan.layout, q.machine, q.constants).both(),
                               head_seconds(q.model, plan.layout, q.machine, q.constants).both(), where);
  }
  if (weighed == plan.layers) return;
  plan.layers = weighed;
  made.push_back(plan);
}

// The schedules of one layout: every entry, with every number of chunks that it may have.
constexpr void add_scheduled(plan_question const& q, training_plan plan,
                             std::vector<catalog::entry const*> const& entries,
                             std::vector<training_plan>& made) {
  int const p = plan.layout.pipeline;
  if (p == 1) {
    plan.entry = catalog::find("1f1b");
    return add_divided(q, plan, made);
  }
  std::vector<int> const one(1, 1), two(1, 2);
  for (catalog::entry const* e : entries) {
    bool const loops = e->uses(parameter::chunk_count);
    bool const cuts_sequences = e->uses(parameter::sequence_chunk_count);
    if (loops && plan.micro_batches < p) continue;
    plan.entry = e;
    for (int v : loops ? q.chunks : is_v_shaped(*e) ? two : one)
      for (int pieces : cuts_sequences ? q.sequence_chunks : one) {
        if (p * v > q.model.layers || pieces > q.model.sequence) continue;
        plan.chunks = v;
        plan.sequence_chunks = pieces;
        add_divided(q, plan, made);
      }
  }
}

// The layouts of so many devices.
constexpr void add_laid_out(plan_question const& q, int device_count,
                            std::vector<catalog::entry const*> const& entries,
                            std::vector<training_plan>& made) {
  int const heads = static_cast<int>(q.model.heads);
  for (int t = 1; t <= min_of(q.machine.node_size, device_count); t *= 2) {
    if (device_count % t != 0 || (q.tensor != 0 && q.tensor != t)) continue;
    if (q.lists.empty() ? heads % t != 0 : list_of(q, t) == nullptr) continue;
    for (int p = 1; p <= min_of(q.model.layers, device_count / t); ++p) {
      if (device_count / t % p != 0) continue;
      int const d = device_count / t / p;
      if (q.batch % d != 0) continue;
      for (int b = 1; b <= q.largest_micro_batch; b *= 2) {
        if (q.batch / d % b != 0) continue;
        for (recomputation again :
             {recomputation::none, recomputation::attention, recomputation::full}) {
          if (again == recomputation::attention && (!(q.widths.scores > 0) || !q.lists.empty()))
            continue;  // nothing of it is kept
          for (sharding_level level : q.levels)
            if (level == sharding_level::none || d > 1)
              add_scheduled(q,
                            {.layout = {.micro_batch = b,
                                        .tensor = t,
                                        .pipeline = p,
                                        .data = d,
                                        .again = again,
                                        .sequence_parallel = t > 1},
                             .sharding = level,
                             .micro_batches = q.batch / d / b},
                            entries, made);
        }
      }
    }
  }
}

}  // namespace plan_detail

// All plans of the question, feasible or not: tensor ranks within a node that divide the heads,
// pipelines of at most one device a layer, micro-batches in powers of two, recomputation, sharing of
// parameters, schedules, chunks, pieces of sequences, divisions of layers.
constexpr std::vector<training_plan> all_plans(plan_question const& q,
                                               std::vector<catalog::entry const*> const& entries) {
  std::vector<training_plan> made;
  for (int n = q.device_count; n > 0; n /= 2) {
    plan_detail::add_laid_out(q, n, entries, made);
    if (!q.takes_fewer_devices || n % 2 != 0) break;
  }
  return made;
}

}  // namespace ashlar

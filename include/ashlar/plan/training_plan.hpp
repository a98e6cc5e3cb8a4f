// Which division of a training over a cluster makes the shortest step: what does not fit is rejected by
// what a device would hold, the rest is ranked by simulation of the lowered program, as far as a bound
// does not rule it out.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/step_model.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace ashlar {

// What is asked: a model, so many devices alike, a batch of so many sequences.
struct plan_question {
  transformer model;
  device_machine machine;
  step_constants constants;
  kept_widths widths;
  int device_count = 1;
  int batch = 1;
  double margin = 0;  // share of a device's memory to leave free
  int largest_micro_batch = 8;
  int tensor = 0;                    // only so many tensor ranks; 0: any
  std::vector<int> chunks = {2, 4};  // stages on a device, where the schedule has the choice
};

// One way to do it.
struct training_plan {
  training_layout layout;
  bool sharded = false;  // the data ranks share the optimizer's state
  int micro_batches = 1;
  catalog::entry const* entry = nullptr;
  int chunks = 1;
};

struct planned_step {
  training_plan plan;
  double bound = 0;    // seconds that no schedule of these stages is below
  double seconds = 0;  // simulated
  int fullest = 0;     // the device that holds most
  double bytes = 0;    // what it holds
};

struct plan_answer {
  std::vector<planned_step> best;      // by seconds
  std::vector<planned_step> rejected;  // do not fit; by bytes
  int simulated = 0, ruled_out = 0;    // by their bound
};

// Stages on one device: chosen for those that loop, two where devices are a V, else one.
constexpr int chunks_of(training_plan const& plan) {
  if (plan.entry->uses(parameter::chunk_count)) return plan.chunks;
  return std::string_view(plan.entry->name).starts_with("v-") ? 2 : 1;
}

// Enough micro-batches to show the most that is held: the schedules are in their steady part long
// before.
constexpr int enough_micro_batches(training_plan const& plan) {
  return min_of(plan.micro_batches, 4 * plan.layout.pipeline);
}

constexpr schedule passes_of(training_plan const& plan, int micro_batch_count) {
  catalog::shape s{.p = devices{plan.layout.pipeline}, .m = micro_batches{micro_batch_count}};
  s.v = chunks{chunks_of(plan)};
  if (plan.entry->uses(parameter::group_size)) s.group = plan.layout.pipeline;
  return plan.entry->make(s);
}

constexpr stage_division division_of(transformer const& t, training_plan const& plan) {
  return {uniform_partition(t.layers, plan.layout.pipeline * chunks_of(plan)), true};
}

constexpr std::vector<stage_seconds> times_of(plan_question const& q, training_plan const& plan) {
  return stage_times(q.model, plan.layout, plan.sharded, division_of(q.model, plan), q.machine,
                     q.constants);
}

constexpr double simulated_seconds(plan_question const& q, training_plan const& plan) {
  return simulated_step(passes_of(plan, plan.micro_batches), times_of(q, plan), message_mode::beside);
}

// Every device does its passes, after the forwards that lead to its first stage, and then sums its
// gradients. Whatever the order, no step of these stages on these devices is shorter. O(stages).
constexpr double least_seconds(plan_question const& q, training_plan const& plan,
                               placement const& where) {
  std::vector<stage_seconds> const times = times_of(q, plan);
  std::vector<double> busy(static_cast<std::size_t>(where.device_count()), -1.0);
  double until = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    stage_seconds const& s = times[static_cast<std::size_t>(stage)];
    double& sum = busy[static_cast<std::size_t>(where.device_of(0, stage))];
    if (sum < 0) sum = until;  // its first
    sum += plan.micro_batches * (s.forward + s.backward) + s.reduction;
    until += s.forward;
  }
  double least = 0;
  for (double each : busy) least = max_of(least, each);
  // Ticks are whole nanoseconds: a pass may be half of one shorter in a simulation.
  return max_of(0.0, least - 1e-9 * (plan.micro_batches + 1.0) * where.stage_count());
}

// All plans of the question, feasible or not: tensor ranks within a node that divide the heads,
// pipelines of at most one device a layer, micro-batches in powers of two, recomputation, sharing of the
// optimizer, schedules.
constexpr std::vector<training_plan> all_plans(plan_question const& q,
                                               std::vector<catalog::entry const*> const& entries) {
  std::vector<training_plan> made;
  int const heads = static_cast<int>(q.model.heads);
  for (int t = 1; t <= min_of(q.machine.node_size, q.device_count); t *= 2) {
    if (q.device_count % t != 0 || heads % t != 0 || (q.tensor != 0 && q.tensor != t)) continue;
    for (int p = 1; p <= min_of(q.model.layers, q.device_count / t); ++p) {
      if (q.device_count / t % p != 0) continue;
      int const d = q.device_count / t / p;
      if (q.batch % d != 0) continue;
      for (int b = 1; b <= q.largest_micro_batch; b *= 2) {
        if (q.batch / d % b != 0) continue;
        for (recomputation again : {recomputation::none, recomputation::attention, recomputation::full})
          for (bool sharded : {false, true}) {
            if (sharded && d == 1) continue;
            if (again == recomputation::attention && !(q.widths.scores > 0))
              continue;  // nothing of it is kept
            for (catalog::entry const* e : entries)
              for (int v : q.chunks) {
                training_plan plan{.layout = {.micro_batch = b,
                                              .tensor = t,
                                              .pipeline = p,
                                              .data = d,
                                              .again = again,
                                              .sequence_parallel = t > 1},
                                   .sharded = sharded,
                                   .micro_batches = q.batch / d / b,
                                   .entry = e,
                                   .chunks = v};
                bool const looped = e->uses(parameter::chunk_count);
                if (!looped && v != q.chunks[0]) continue;
                if (looped && (p == 1 || plan.micro_batches < p)) continue;
                if (p == 1 && e != entries[0]) continue;
                if (p * chunks_of(plan) > q.model.layers) continue;
                made.push_back(plan);
              }
          }
      }
    }
  }
  return made;
}

// What the fullest device of a plan holds, of a schedule of its passes.
constexpr void weigh(plan_question const& q, schedule const& s, planned_step& step) {
  training_plan const& plan = step.plan;
  memory_model const m =
      stage_bytes(q.model, plan.layout, plan.sharded, division_of(q.model, plan), q.widths);
  std::vector<byte_count> const peaks = peak_memory(s, m);
  step.bytes = 0;
  for (std::size_t d = 0; d < peaks.size(); ++d)
    if (static_cast<double>(peaks[d]) > step.bytes) {
      step.bytes = static_cast<double>(peaks[d]);
      step.fullest = static_cast<int>(d);
    }
}

// The `top` plans of least simulated time. Plans are simulated in the order of their bounds until the
// next bound is no less than the worst of the best so far: none that is left out is better. `tell(done,
// of)` is called after each. Schedules of one shape are made once to weigh them. Seconds for hundreds of
// devices.
template <class Tell>
constexpr plan_answer answer(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                             std::size_t top, Tell tell) {
  struct known_shape {
    catalog::entry const* entry;
    int p, m, v;
    schedule passes;
  };
  plan_answer made;
  double const budget = q.machine.memory * (1 - q.margin);
  std::vector<planned_step> fitting;
  std::vector<known_shape> shapes;
  for (training_plan const& plan : all_plans(q, entries)) {
    int const m = enough_micro_batches(plan), p = plan.layout.pipeline, v = chunks_of(plan);
    known_shape const* found = nullptr;
    for (known_shape const& k : shapes)
      if (k.entry == plan.entry && k.p == p && k.m == m && k.v == v) found = &k;
    if (found == nullptr) {
      shapes.push_back({plan.entry, p, m, v, passes_of(plan, m)});
      found = &shapes.back();
    }
    planned_step step{.plan = plan};
    weigh(q, found->passes, step);
    step.bound = least_seconds(q, plan, found->passes.where);
    (step.bytes > budget ? made.rejected : fitting).push_back(step);
  }
  merge_sort(fitting, [](planned_step const& a, planned_step const& b) { return a.bound < b.bound; });
  merge_sort(made.rejected,
             [](planned_step const& a, planned_step const& b) { return a.bytes < b.bytes; });
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    if (made.best.size() == top && fitting[i].bound >= made.best.back().seconds) {
      made.ruled_out = static_cast<int>(fitting.size() - i);
      break;
    }
    planned_step step = fitting[i];
    step.seconds = simulated_seconds(q, step.plan);
    ++made.simulated;
    std::size_t at = made.best.size();
    while (at > 0 && step.seconds < made.best[at - 1].seconds) --at;
    made.best.push_back(step);
    for (std::size_t j = made.best.size() - 1; j > at; --j) std::swap(made.best[j], made.best[j - 1]);
    if (made.best.size() > top) made.best.pop_back();
    tell(i + 1, fitting.size());
  }
  return made;
}

}  // namespace ashlar

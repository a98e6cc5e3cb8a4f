#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/plan/training/listed_layers.hpp>
#include <ashlar/plan/training/plan_sites.hpp>
#include <ashlar/plan/training/step_model.hpp>
#include <ashlar/plan/training/training_plan.hpp>

#include <cstddef>

namespace ashlar::plan_detail {

// Seconds of one of the q pieces of a stage's sequences in a micro-batch. A piece attends to itself and
// to all before it; of everything else it takes an equal share. Weight passes of all pieces are alike,
// since attention has no weights: half of a mean backward, unless attention leaves less. Sharded weights
// are gathered, and gradients scattered, beside the passes of each piece: a pass takes as long as the
// longer of both.
stage_seconds of_piece(stage_seconds s, int piece, int q) {
  double const attends = (2.0 * piece + 1) / q / q, more = attends - 1.0 / q,
               shards = s.gather + s.scatter, mean = max_of(s.passes.backward / q, shards);
  s.passes = {max_of(s.passes.forward / q + s.attention.forward * more, s.gather),
              max_of(s.passes.backward / q + s.attention.backward * more, shards)};
  s.attention = attends * s.attention;
  s.weight = max_of(0.0, min_of(mean / 2, s.passes.backward - s.attention.backward));
  s.send /= q;
  return s;
}

}  // namespace ashlar::plan_detail

namespace ashlar {

std::vector<stage_seconds> times_of(plan_question const& q, training_plan const& plan) {
  std::vector<stage_seconds> whole, all;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr)
    whole =
        stage_times(*list, plan.layout, plan.sharding, plan.layers, nth(q.kinds, plan.kinds[0]).machine);
  else
    whole = stage_times(q.model, plan.layout, plan.sharding, {plan.layers, true}, sites_of(q, plan));
  for (stage_seconds const& each : whole)
    for (int piece = 0; piece < plan.sequence_chunks; ++piece)
      all.push_back(plan_detail::of_piece(each, piece, plan.sequence_chunks));
  return all;
}

memory_model bytes_of(plan_question const& q, training_plan const& plan) {
  memory_model m;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr)
    m = stage_bytes(*list, plan.layout, plan.sharding, plan.layers);
  else
    m = stage_bytes(q.model, plan.layout, plan.sharding, {plan.layers, true}, q.widths);
  for (stage_memory& each : m.stages) each.stash /= plan.sequence_chunks;
  return m;
}

}  // namespace ashlar

namespace ashlar::plan_detail {

std::vector<stage_work> work_of(plan_question const& q, training_plan const& plan) {
  std::vector<stage_work> all;
  std::vector<stage_seconds> const times = times_of(q, plan);
  for (std::size_t i = 0; i < times.size(); i += static_cast<std::size_t>(plan.sequence_chunks)) {
    stage_work sum{.first = times[i].passes.forward, .reduction = times[i].reduction};
    for (int piece = 0; piece < plan.sequence_chunks; ++piece) {
      stage_seconds const& s = times[i + static_cast<std::size_t>(piece)];
      sum.passes += plan.micro_batches * s.passes.both();
    }
    all.push_back(sum);
  }
  return all;
}

}  // namespace ashlar::plan_detail

namespace ashlar {

double least_seconds(plan_question const& q, training_plan const& plan) {
  placement const where = placement_of(plan);
  std::vector<plan_detail::stage_work> const work = plan_detail::work_of(q, plan);
  std::vector<double> busy(static_cast<std::size_t>(where.device_count()), -1.0);
  int const units = plan.micro_batches * plan.sequence_chunks;
  double until = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    plan_detail::stage_work const& s = nth(work, stage);
    double& sum = nth(busy, where.device_of(0, stage));
    if (sum < 0) sum = until;  // starts with its first stage
    sum += s.passes + s.reduction;
    until += s.first;
  }
  double least = 0;
  for (double each : busy) least = max_of(least, each);
  // Ticks are whole nanoseconds: in a simulation a pass may be half of one shorter.
  return max_of(0.0, least - 1e-9 * (units + 1.0) * where.stage_count());
}

double busiest_seconds(plan_question const& q, training_plan const& plan) {
  placement const where = placement_of(plan);
  std::vector<plan_detail::stage_work> const work = plan_detail::work_of(q, plan);
  std::vector<double> busy(static_cast<std::size_t>(where.device_count()), 0.0);
  for (int stage = 0; stage < where.stage_count(); ++stage)
    nth(busy, where.device_of(0, stage)) += nth(work, stage).passes;
  double most = 0;
  for (double each : busy) most = max_of(most, each);
  return most;
}

}  // namespace ashlar

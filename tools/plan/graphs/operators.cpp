#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/graphs/operators.hpp>

#include <cstddef>

namespace ashlar {

void operator_cost::add(operator_cost const& other) {
  launch += other.launch;
  forward += other.forward;
  backward_input += other.backward_input;
  backward_weight += other.backward_weight;
  weights += other.weights;
  kept += other.kept;
}

stage_cost cost_of_stage(operator_cost const& sum, stage_choice const& how) {
  tick const share = how.share();
  return {.forward = max_of(tick{1}, sum.launch + sum.forward * share),
          .backward_input = max_of(tick{1}, sum.launch + sum.backward_input * share),
          .backward_weight = max_of(tick{1}, sum.backward_weight * share)};
}

byte_count memory_of_stage(operator_cost const& sum, stage_choice const& how, std::int64_t in_flight,
                           int samples) {
  std::int64_t const b = how.micro_batch;
  std::int64_t const held = min_of((in_flight + b - 1) / b, samples / b);
  return sum.weights + held * how.share() * sum.kept;
}

diagnosis check(operator_model const& m, operator_machine const& machine, operator_batch const& batch) {
  if (static_cast<int>(m.cost.size()) != m.graph.count())
    return wrong_size(table::operator_costs, m.cost.size(), m.graph.count());
  for (int count : {machine.device_count, batch.samples, batch.largest_micro_batch})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  if (diagnosis const d = at_most(parameter::device_count, machine.device_count, most_planned_devices);
      !d.ok())
    return d;
  if (m.graph.has_sizes() || m.graph.sequence_chunks() != 1)
    return {.broken = rule::micro_batch_sizes_divide};
  if (machine.bandwidth < 0 || machine.memory < 0)
    return {.broken = rule::sizes_fit, .number = min_of(machine.bandwidth, machine.memory)};
  for (std::size_t o = 0; o < m.cost.size(); ++o) {
    operator_cost const& c = m.cost[o];
    site const where{.index = static_cast<int>(o), .what = {.stage = static_cast<int>(o)}};
    for (tick time : {c.launch, c.forward, c.backward_input, c.backward_weight})
      if (time < 0 || time >= max_tick / batch.samples / 8 / m.graph.count())
        return {.broken = rule::no_duration_is_negative, .first = where, .number = time};
    for (byte_count size : {c.weights, c.kept, c.output})
      if (size < 0 || size >= max_tick / batch.samples / m.graph.count())
        return {.broken = rule::sizes_fit, .first = where, .number = size};
  }
  return {};
}

}  // namespace ashlar

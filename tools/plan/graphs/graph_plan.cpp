#include <ashlar/catalog/graphs.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/plan/graphs/convex_partition.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ashlar::plan_detail {

graph_plan numbered(operator_model const& model, std::vector<planned_stage> const& found, bool is_exact,
                    int samples) {
  std::vector<std::size_t> owner(model.cost.size(), 0);
  for (std::size_t s = 0; s < found.size(); ++s)
    for (int o : found[s].operators) nth(owner, o) = s;
  std::vector<int> name(found.size(), -1), stage_of;
  int names = 0;
  for (std::size_t s : owner) {
    if (name[s] < 0) name[s] = names++;
    stage_of.push_back(name[s]);
  }
  operator_partition const cut = partitioned(model.graph, std::move(stage_of));
  graph_plan made{.graph = {},
                  .stages = std::vector<planned_stage>(found.size()),
                  .unit = samples,
                  .is_exact = is_exact};
  for (std::size_t s = 0; s < found.size(); ++s) {
    nth(made.stages, nth(cut.number, name[s])) = found[s];
    made.unit = min_of(made.unit, found[s].how.micro_batch);
  }
  std::vector<int> sizes;
  for (planned_stage const& s : made.stages) sizes.push_back(s.how.micro_batch / made.unit);
  made.graph = in_micro_batches(cut.graph, std::move(sizes));
  return made;
}

operator_cost sum_of(operator_model const& model, planned_stage const& stage) {
  operator_cost sum;
  for (int o : stage.operators) sum.add(nth(model.cost, o));
  return sum;
}

}  // namespace ashlar::plan_detail

namespace ashlar {

tick busiest_of(operator_model const& model, graph_plan const& plan, int samples) {
  tick most = 0;
  for (planned_stage const& s : plan.stages)
    most = max_of(most, busy_of_stage(plan_detail::sum_of(model, s), s.how, samples));
  return most;
}

std::vector<graph_plan> plans_within(graph_partitioner& search, operator_model const& model,
                                     operator_batch const& batch, tick time) {
  std::vector<graph_plan> all;
  for (std::vector<planned_stage> const& found : search.stages_within(time)) {
    all.push_back(plan_detail::numbered(model, found, search.is_exact(), batch.samples));
    all.back().time = busiest_of(model, all.back(), batch.samples);
  }
  return all;
}

tick least_time_of(graph_partitioner& search) {
  tick low = 0, high = search.most_time();
  if (search.stages_within(high).empty()) return -1;
  while (low < high) {
    tick const middle = low + (high - low) / 2;
    if (search.stages_within(middle).empty())
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

graph_plan best_graph_plan(operator_model const& model, operator_machine const& machine,
                           operator_batch const& batch) {
  graph_partitioner search(model, machine, batch);
  tick const least = least_time_of(search);
  bool is_best = model.graph == chain(stages{model.graph.count()});
  if (!is_best) {
    convex_partitioner all(model, machine, batch);
    std::vector<planned_stage> const better =
        all.stages_below(least < 0 ? search.most_time() + 1 : least);
    is_best = all.is_complete();
    if (!better.empty()) {
      graph_plan found = plan_detail::numbered(model, better, is_best, batch.samples);
      found.time = busiest_of(model, found, batch.samples);
      return found;
    }
  }
  if (least < 0) {
    graph_plan none;
    none.is_exact = is_best;
    return none;
  }
  graph_plan best;
  std::int64_t fewest = 0;
  for (graph_plan& p : plans_within(search, model, batch, least)) {
    std::int64_t most = 0;
    for (std::int64_t units : in_flight(p.graph)) most = max_of(most, units * p.unit);
    if (best.found() && most >= fewest) continue;
    best = std::move(p);
    fewest = most;
  }
  best.is_exact = is_best;
  return best;
}

schedule schedule_of(operator_model const& model, graph_plan const& plan, int samples) {
  std::vector<stage_cost> cost;
  for (planned_stage const& s : plan.stages)
    cost.push_back(cost_of_stage(plan_detail::sum_of(model, s), s.how));
  return catalog::one_f_one_b(plan.graph, linear(devices{plan.graph.count()}),
                              micro_batches{samples / plan.unit}, costs(std::move(cost)));
}

tick simulated_step(operator_model const& model, operator_machine const& machine, graph_plan const& plan,
                    int samples) {
  schedule const s = schedule_of(model, plan, samples);
  if (machine.bandwidth == 0) return makespan(s);
  std::vector<int> stage_of(model.cost.size(), 0);
  for (std::size_t n = 0; n < plan.stages.size(); ++n)
    for (int o : plan.stages[n].operators) nth(stage_of, o) = static_cast<int>(n);
  simulation_options o;
  o.cost = s.cost;
  o.cost.on.links.inside.bandwidth = machine.bandwidth;
  o.memory.stages.clear();
  for (planned_stage const& stage : plan.stages) {
    byte_count bytes = 0;
    for (int from : stage.operators) {
      bool leaves = false;
      for (int to : model.graph.successors(from))
        leaves = leaves || nth(stage_of, to) != nth(stage_of, from);
      if (leaves) bytes += nth(model.cost, from).output;
    }
    o.memory.stages.push_back({});
    o.memory.stages.back().activation = o.memory.stages.back().gradient = bytes * stage.how.micro_batch;
  }
  return simulate(lower(s, {transfer_lanes::one_a_direction}), o).makespan();
}

simulated_plan best_simulated_plan(operator_model const& model, operator_machine const& machine,
                                   operator_batch const& batch, int percent) {
  simulated_plan best;
  best.rated = best_graph_plan(model, machine, batch);
  if (!best.rated.found()) return best;
  best.rated_step = best.chosen_step = simulated_step(model, machine, best.rated, batch.samples);
  best.chosen = best.rated;
  graph_partitioner search(model, machine, batch);
  tick const least = least_time_of(search);
  constexpr int steps = 10;
  for (int i = 0; i <= steps; ++i)
    for (graph_plan& p : plans_within(search, model, batch, least + least * percent / 100 * i / steps)) {
      tick const step = simulated_step(model, machine, p, batch.samples);
      if (step >= best.chosen_step) continue;
      best.chosen_step = step;
      best.chosen = std::move(p);
    }
  return best;
}

}  // namespace ashlar

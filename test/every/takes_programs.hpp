// Values that functions of programs, searches and costs take; see takes.hpp.
#pragma once

#include "every/takes.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace every::takes {

// Programs whose tables are right, with their own devices.
inline bool waits(program_view const& p, int device, auto) { return is_device(p, device); }
inline bool rendezvous_order(program_view const& p) { return is_right(p); }
inline bool issue_order(program_view const& p) { return is_right(p); }
inline bool partners_in_order(program_view const& p) { return is_right(p); }
inline bool program_certificate(program const& p, auto const&) {
  return is_right(p) && ashlar::certificate_obstacle(p).empty();
}
inline bool pytorch_obstacle(csv_tokens& tokens, program const& p) {
  if (!is_right(p) || !ashlar::pytorch_obstacle(p).empty()) return false;
  csv_problems problems(1);
  tokens = read_csv_tokens(ashlar::pytorch_comms_csv(p), {}, problems);
  return problems.none();
}
inline bool pytorch_deadlock(csv_tokens& tokens, auto) {
  return takes::pytorch_obstacle(tokens,
                                 lower(catalog::find("1f1b")->make({devices{2}, micro_batches{3}})));
}
inline bool pytorch_deadlock(program const& p, auto) {
  return is_right(p) && ashlar::pytorch_obstacle(p).empty();
}
inline bool check_message_order(program_view const& p) { return is_right(p); }
inline bool check_gradient_sizes(program_view const& p, auto const&) { return is_proved(p); }
inline bool describe(program_view const& p, auto const&...) { return is_right(p); }
inline bool devices_of(program_view const& p, int group) {
  return is_right(p) && is_index(group, static_cast<std::size_t>(all_reduce_count(p)));
}
inline bool summed_value(work_view const& work, part_id& sum) {
  sum.part = 0;
  return work.knows(sum) && work.is_collective(sum.job) && !work.inputs(sum).empty();
}
inline bool passes_of(auto const&, program const& p) { return is_right(p); }
inline bool pytorch_comms_csv(program const& p, auto) {
  return is_right(p) && ashlar::pytorch_obstacle(p).empty();
}
inline bool certificate_of(schedule const& s, auto const&, auto const&,
                           std::vector<claimed_bound>& bounds) {
  bounds.clear();
  return is_right(s) && ashlar::certificate_obstacle(s).empty();
}
inline bool number_of(program_view const& p, int rank, int device) {
  return is_device(p, device) && is_index(rank, static_cast<std::size_t>(p.data_ranks));
}
inline bool members_of(program_view const& p, collective_group const& g, int rank) {
  int const ranks = g.scope == group_scope::ranks ? p.device_count : all_reduce_count(p);
  return takes::number_of(p, rank, 0) && is_index(g.of, static_cast<std::size_t>(ranks));
}
inline bool overlaps_well(program_view const& p, int i, int end) {
  return is_right(p) && is_index(end, p.instructions.size() + 1) && i >= 0 && i < end;
}
inline bool check_memory_safe(program const& p) {
  if (!check_well_formed(p).ok()) return false;
  message_index index(p);
  return check_complete(p, index).ok() && check_ordered(p, index).ok()
         && check_deadlock_free(p, index).ok();
}
inline bool transfer_pairs(program const& p) { return is_right(p); }
inline bool smallest_message(program const& p, simulation_options const& o) {
  return is_right(p) && check_can_be_timed(p, o).ok();
}
inline bool count_slots(program_view const& p, int device, auto) { return is_device(p, device); }

// Problems that have a solution.
inline bool first_of_graph(search_problem const& problem) { return is_right(problem); }
inline bool one_f_one_b_of(search_problem const& problem) { return is_right(problem); }
inline bool workload_of(search_problem const& problem) { return is_right(problem); }
inline bool problem_bound(search_problem const& problem) { return is_right(problem); }
inline bool braided_bound(search_problem const& problem) { return is_right(problem); }
inline bool seeds_of(search_problem const& problem) { return is_right(problem); }
inline bool graph_seeds(auto const& graph, placement const& where, micro_batches m, costs const& cost) {
  return is_right(search_problem{
      .where = where, .m = m, .cost = cost, .limit = chunk_activations(most_passes), .graph = graph});
}
inline bool one_after_another(stage_graph const& graph, placement const& where, micro_batches m,
                              costs const& cost) {
  return takes::graph_seeds(graph, where, m, cost);
}
inline bool one_after_another(placement const& where, micro_batches m, costs const& cost, int chunks) {
  return is_right(search_problem{.where = where,
                                 .m = m,
                                 .cost = cost,
                                 .limit = chunk_activations(most_passes),
                                 .sequence_chunks = chunks});
}
inline bool has_least_memory(schedule const& s, memory_limit const& limit) {
  return is_right(s) && has_workload(s) && s.where.route_count() == 1
         && check(limit, s.where, s.micro_batch_count(), s.graph.sequence_chunks()).ok();
}
inline bool successive_halving(schedule const& s, std::vector<schedule>& seeds,
                               memory_limit const& limit, search_budget& budget, auto const&...) {
  seeds = {s};
  budget.passes = 2000;
  return takes::has_least_memory(s, limit);
}
inline bool chunks_without_room(layout_choice const& plain, auto const&...) {
  return is_right(plain.problem);
}
inline bool recomputed_stages(search_problem const& problem) { return is_right(problem); }
inline bool vary(layout_choice const& c, auto const&...) {
  return is_right(c.problem) && c.unit > 0 && c.unit < 1 << 20 && c.memory_unit > 0
         && c.memory_unit < 1 << 20;
}
inline bool proved_of(std::vector<searched_layout> const& all) {
  for (searched_layout const& one : all)
    if (one.choice.unit < 1 || !is_index(one.result.reached, most_passes)
        || !is_index(one.least(), most_passes))
      return false;
  return true;
}
inline bool variants_of(layout_choice const& plain, auto const&...) { return takes::vary(plain); }
inline bool braid(searched_layout& found, std::int64_t& evaluations) {
  evaluations &= 3;
  if (!is_right(found.choice.problem)) return false;
  found.result.best = ashlar::seeds_of(found.choice.problem).front();
  return true;
}
inline bool one_after_the_other(std::size_t n, auto const&) { return n < 1000; }
inline bool check_start(search_problem const& problem, schedule const& s) {
  return are_right(problem, s);
}

inline bool pass_count(search_problem const& problem) { return is_right(problem); }

namespace cost {

using namespace ashlar::cost;

// Clusters and layouts of a question that check() accepts.
inline bool has_several_nodes(auto const&... all) { return are_right(all...); }
inline bool domain_of(auto const&... all) { return are_right(all...); }
inline bool mean_peak(auto const&... all) { return are_right(all...); }
inline bool newest_of(auto const&... all) { return are_right(all...); }
inline bool stage_ranks_in_domain(auto const&... all) { return are_right(all...); }
inline bool group_rate(auto const&... all) { return are_right(all...); }
inline bool ring_seconds(auto const&... all) { return are_right(all...); }
inline bool tensor_bytes_seconds(auto const&... all) { return are_right(all...); }
inline bool context_seconds(auto const&... all) { return are_right(all...); }
inline bool orders_of_kinds(int kind_count) { return kind_count < 8; }
inline bool of_kinds(cluster const& c, std::vector<int> const& kinds) {
  for (int const kind : kinds)
    if (!is_index(kind, c.kinds.size())) return false;
  return is_right(c) && !kinds.empty();
}
inline bool slowest_of(cluster const& c, std::vector<int> const& kinds) {
  return takes::cost::of_kinds(c, kinds);
}

// Questions that check() accepts, with their own stages and devices.
inline bool stages_of(question const& q) { return is_right(q); }
inline bool passes_of(question const& q, std::vector<stage>& stages, auto const&...) {
  if (!is_right(q)) return false;
  try {
    stages = ashlar::cost::stages_of(q);
    return true;
  } catch (unpredictable const&) {
    return false;
  }
}
inline bool executes_all(question const& q) { return is_right(q) && q.layout.published() != nullptr; }
inline bool least_step_seconds(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::executes_all(q) && takes::cost::passes_of(q, stages);
}
inline bool most_hidden(question const& q, std::vector<stage>& stages, std::vector<stage_passes>& passes,
                        std::vector<std::vector<int>> const& here, auto const&) {
  if (!takes::cost::passes_of(q, stages)) return false;
  passes.resize(stages.size());
  for (std::vector<int> const& on_device : here)
    for (int const s : on_device)
      if (!is_index(s, stages.size())) return false;
  return true;
}
inline bool has_uneven_rounds(question const& q, std::vector<stage_passes>& passes) {
  std::vector<stage> stages;
  if (!takes::cost::passes_of(q, stages)) return false;
  passes.resize(stages.size());
  return true;
}
inline bool interleaved_seconds(question const& q, std::vector<stage_passes>& passes) {
  return takes::cost::has_uneven_rounds(q, passes);
}
inline bool kept_by_stage(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::passes_of(q, stages);
}
inline bool needs_of(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::passes_of(q, stages);
}
inline bool memory_of(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::passes_of(q, stages);
}
inline bool step_of(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::passes_of(q, stages);
}
inline bool bytes_after(question const& q, stage& s) {
  std::vector<stage> all;
  if (!takes::cost::passes_of(q, all)) return false;
  s = all.front();
  return true;
}
inline bool parts_in_pairs(question const& q, stage& s, auto const&...) {
  return takes::cost::bytes_after(q, s);
}
inline bool deal_evenly(architecture const& model, layout const& l) {
  return are_right(model, l) && l.pipeline * l.chunks <= part_chain(model, l).count();
}
inline bool deals_in_even_rounds(architecture const& model, layout const& l) {
  return takes::cost::deal_evenly(model, l) && l.pipeline * l.chunks > 2;
}
inline bool held_by_stage(architecture const& model, layout const& l, stage& s) {
  if (!takes::cost::deal_evenly(model, l)) return false;
  s = ashlar::cost::deal_evenly(model, l).back();
  return true;
}
inline bool held_by_stages(architecture const& model, layout const& l, std::vector<stage>& stages,
                           std::vector<int> const& numbers) {
  if (!takes::cost::deal_evenly(model, l)) return false;
  stages = ashlar::cost::deal_evenly(model, l);
  for (int const s : numbers)
    if (!is_index(s, stages.size())) return false;
  return true;
}
inline bool state_of_stage(architecture const& model, layout const& l, stage& s, auto const&...) {
  return takes::cost::held_by_stage(model, l, s);
}
inline bool once_by_stages(question const& q, held_parameters const& /*held*/,
                           std::vector<stage>& stages, std::vector<int> const& numbers, auto const&...) {
  if (!takes::cost::passes_of(q, stages)) return false;
  for (int const s : numbers)
    if (!is_index(s, stages.size())) return false;
  return true;
}
inline bool sum_of_passes(step_terms& step) {
  step.micro_batches.resize(step.of_stages.size());
  return true;
}
inline bool in_flight(question const& q, int device) {
  return is_right(q) && is_index(device, static_cast<std::size_t>(q.layout.pipeline));
}
inline bool kinds_of_rank(question const& q, int rank) { return takes::cost::in_flight(q, rank); }
inline bool reads_untrained(architecture& a, std::size_t& number, std::size_t& product) {
  if (a.towers.empty()) a.towers.emplace_back();
  number %= a.towers.size();
  if (a.towers[number].products.empty()) a.towers[number].products.emplace_back();
  product %= a.towers[number].products.size();
  return is_right(a);
}
inline bool passes_of_tower(question& q, std::size_t& number, auto const&...) {
  if (q.model.towers.empty()) q.model.towers.emplace_back();
  number %= q.model.towers.size();
  q.layout.context = 1;
  return is_right(q);
}
inline bool tower_question(question& q, tower& t) {
  std::size_t first = 0;
  if (!takes::cost::passes_of_tower(q, first)) return false;
  t = q.model.towers.front();
  return true;
}
inline bool kept_of_tower(question& q, std::size_t& number, auto const&...) {
  return takes::cost::passes_of_tower(q, number);
}
inline bool deal_layers(question const& q, auto const&) { return is_right(q); }
inline bool pieces_of(question& q, auto const&) {
  q.layout.chunks = 1;
  q.layout.order = closed_form{};
  q.layout.lanes.reset();
  return !q.cluster.has_several_kinds() && takes::cost::passes_of(q, q.layout.stages);
}
inline bool deal_by_speed(question const& q, placement& where, auto const&) {
  if (!is_right(q)) return false;
  where = linear(devices{q.layout.pipeline});
  return true;
}
inline bool is_usual(question const& q) { return is_right(q); }
inline bool placement_of(question const& q) { return is_right(q); }
inline bool stage_count(question const& q) { return is_right(q); }
inline bool every_stage_works(question const& q) { return is_right(q); }
inline bool bytes_before(question const& q, stage& s) { return takes::cost::bytes_after(q, s); }
inline bool slopes_of(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::passes_of(q, stages);
}
inline bool step_variance(question const& q, std::vector<stage>& stages, auto const&...) {
  return takes::cost::passes_of(q, stages);
}
inline bool must_be_small(double micro_batches, double stages) {
  return micro_batches >= 0 && stages >= 0 && micro_batches < 1e15 && stages < 1e9;
}
inline bool improved_order(question const& q, auto const&, double, std::int64_t& passes) {
  passes = 500;
  return is_right(q);
}
inline bool fits(question const& q, std::vector<memory_parts>& devices, auto const&...) {
  if (!is_right(q)) return false;
  devices.resize(static_cast<std::size_t>(q.layout.pipeline));
  return true;
}
inline bool fullest_device(question const& q, std::vector<memory_parts>& devices) {
  return takes::cost::fits(q, devices);
}

}  // namespace cost

}  // namespace every::takes

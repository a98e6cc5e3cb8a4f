// Values that functions take, where a comment of theirs requires something, or their room's values have
// passed a check before: each function here has the name of a public one. Where values belong together,
// it makes some from the others. All other functions answer or refuse any value.
#pragma once

#include "every/right.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace every::takes {

// Arithmetic.
inline bool saturating_product(tick a, tick b) { return a >= 0 && b >= 0; }
inline bool saturating_sum(tick a, tick b) { return a >= 0 && b >= 0; }
inline bool floor_quotient(tick a, tick b) {
  return a >= -max_tick && a <= max_tick && b > 0 && b <= max_tick;
}
inline bool floor_remainder(tick a, tick b) { return takes::floor_quotient(a, b); }
inline bool proportional(std::int64_t amount, tick time, std::int64_t of) {
  return amount >= 0 && time >= 0 && of > 0;
}
inline bool at_speed(tick time, int percent) { return time >= 0 && percent > 0; }
inline bool matching_micro_batches(int own, int other) { return own > 0 && other > 0; }

inline bool shard_of(std::size_t, int rank, int ranks, auto...) { return rank >= 0 && rank < ranks; }
inline bool share_of(byte_count size, int parts) { return size >= 0 && parts > 0; }
inline bool half_ring_time(link_speed const& l, byte_count size, tick ranks) {
  return check(l, opcode::all_reduce).ok() && l.bandwidth >= 0 && size >= 0 && ranks <= 1 << 24;
}
inline bool ring_time(link_speed const& l, byte_count size, tick ranks) {
  return takes::half_ring_time(l, size, ranks);
}
inline bool spare_room(tick room, tick duration, int margin) {
  return room >= 0 && room < max_tick && duration >= 0 && margin >= 0;
}
inline bool cost_of_stage(operator_cost const& sum, stage_choice const& how) {
  for (std::int64_t const each : {sum.launch, sum.forward, sum.backward_input, sum.backward_weight,
                                  sum.weights, sum.kept, sum.output})
    if (each < 0 || each >= 1 << 30) return false;
  return how.micro_batch > 0 && how.micro_batch < 1000 && how.devices > 0 && how.devices < 1000;
}
inline bool busy_of_stage(operator_cost const& sum, stage_choice const& how, int samples) {
  return takes::cost_of_stage(sum, how) && is_index(samples, most_passes);
}
inline bool memory_of_stage(operator_cost const& sum, stage_choice const& how, std::int64_t in_flight,
                            int samples) {
  return takes::busy_of_stage(sum, how, samples) && in_flight >= 0 && in_flight < most_passes;
}
// A plan of a model.
inline bool busiest_of(operator_model const& model, graph_plan& plan, int& samples) {
  samples = 1 + (samples & 7);
  operator_machine const machine{.device_count = 3};
  operator_batch const batch{.samples = samples, .largest_micro_batch = samples};
  if (model.graph.count() > 6 || !check(model, machine, batch).ok()) return false;
  plan = best_graph_plan(model, machine, batch);
  return plan.found();
}
inline bool schedule_of(operator_model const& model, graph_plan& plan, int& samples) {
  return takes::busiest_of(model, plan, samples);
}
inline bool simulated_step(operator_model const& model, operator_machine const& machine,
                           graph_plan& plan, int& samples) {
  return takes::busiest_of(model, plan, samples)
         && check(model, machine, {.samples = samples, .largest_micro_batch = 1}).ok();
}
inline bool why_nothing_fits(serving_problem const& problem) { return check(problem).ok(); }
inline bool duration_of(std::vector<pass_part> const& parts) {
  for (pass_part const& part : parts)
    if (part.duration < 0) return false;
  return true;
}
inline bool side_by_side(variant const& a, variant const& b) {
  return min_of(min_of(a.time, a.memory), min_of(b.time, b.memory)) >= 0
         && min_of(a.penalty, b.penalty) >= 0;
}
inline bool in_turn(variant const& a, variant const& b) { return takes::side_by_side(a, b); }

inline bool part_of(collective_call const& c, int member) {
  return c.group.size < 1000 && member >= 0 && member < c.group.size;
}
inline bool colour_of_box(pass_kind, int shade, int shade_count) {
  return shade >= 0 && shade < 1000 && (shade_count < 2 || shade < shade_count);
}
inline bool add_elements(std::span<std::byte> into, std::span<std::byte const> from, auto) {
  return into.size() == from.size();
}
inline bool transfer_lane_of(auto, int peer, auto, auto) { return is_index(peer, most_stages); }
inline bool transfer_lane_count(auto, int device_count) {
  return device_count >= 0 && device_count <= most_stages;
}
inline bool held_groups(group_view const& groups, int& device_count) {
  device_count = 4;
  for (int group = 0; group < groups.count(); ++group)
    for (int const d : groups.holders(group))
      if (!is_index(d, 4)) return false;
  return true;
}
inline bool braid_sizes(part_costs const& c, std::vector<std::size_t> const& which) {
  for (std::size_t const stage : which)
    if (stage >= c.stages.size()) return false;
  return true;
}
inline bool value_of(auto, request_list const& all, std::vector<tick>& ends) {
  ends.assign(all.size(), max_tick / 2);
  for (request const& r : all)
    if (r.arrival < 0 || r.arrival >= max_tick) return false;
  return !all.empty();
}
inline bool occupy(dynamic_array<room>& rooms, std::size_t& which, tick& start, tick& end) {
  which = 0, start = 1, end = 2;
  rooms.push_back({{0, 4}, 4});
  return true;
}
inline bool in_start_order(auto const& orders, std::vector<tick> const& targets) {
  for (auto const& order : orders)
    for (auto const i : order)
      if (!is_index(i, targets.size())) return false;
  return true;
}
inline bool check_limit(schedule const& filled, int own_jobs, fill_options const& o) {
  return is_right(filled) && own_jobs >= 0 && own_jobs < 1000
         && check(o.limit, filled.where, max_of(filled.micro_batch_count(), 1)).ok();
}

// Blocks.
inline bool collide(block const& b, cell const& x, cell const& y) {
  block two = b;
  two.cells = {x, y};
  return is_right(two);
}
inline bool modulo_order(block const& b) { return is_right(b); }
inline bool repeat_devices(block const& b, tick instances) {
  return is_right(b) && instances >= 0 && instances < 1000;
}
inline bool repeat_cells(block const& b, list_view<modulo_cell> cells, tick instances) {
  for (modulo_cell const& f : cells)
    if (!is_index(f.cell, b.cells.size()) || !is_index(f.quotient, 1000) || !is_index(f.remainder, 1000))
      return false;
  return takes::repeat_devices(b, instances);
}

// Bounds: valid workloads, with their own stages, devices and micro-batches.
inline bool argument_of(auto const&... all) { return are_right(all...); }
inline bool argument_of(schedule const& s, tick, bool) { return has_path_bound(s); }
inline bool graph_bound(schedule const& s) { return has_path_bound(s); }
inline bool busiest_work(workload const& w) { return is_right(w); }
inline bool counted_spans(workload const& w) { return is_right(w); }
inline bool longest_way(workload const& w) { return is_right(w); }
inline bool area_bound(workload const& w) { return is_right(w); }
inline bool way_of(workload const& w, int k) {
  return is_right(w) && is_index(k, static_cast<std::size_t>(w.cost.passes.period()));
}
inline bool area_on(workload const& w, int device) {
  return is_right(w) && is_index(device, static_cast<std::size_t>(w.where.device_count()));
}
inline bool activations_on(workload const& w, int device, auto const&...) {
  return takes::area_on(w, device);
}
inline bool shortest_lifespan(workload const& w, int stage, int route) {
  return is_right(w) && is_index(stage, static_cast<std::size_t>(w.where.stage_count()))
         && is_index(route, static_cast<std::size_t>(w.route_count()));
}

// Schedules that check() accepts, with their own stages and devices.
inline bool gaps_of(schedule const& s, int device, tick length) {
  return is_right(s) && is_index(device, s.order.size()) && length >= 0 && length < max_tick;
}
inline bool step_gaps(schedule const& s, int device, tick length, bool) {
  return takes::gaps_of(s, device, length);
}
inline bool rooms_of(schedule const& s, int device, tick length, int count, bool) {
  return takes::gaps_of(s, device, length) && count < 1000 && length < max_tick / 1000;
}
inline bool mean_length(schedule const& s, auto, int stage, int device) {
  return is_right(s) && is_index(device, s.order.size())
         && is_index(stage, static_cast<std::size_t>(s.stage_count()));
}
inline bool one_at_a_time(schedule const& s) { return is_right(s) && has_workload(s); }
inline bool work_of_sequence(schedule const& s) { return is_right(s) && !s.route.empty(); }
inline bool work_of_one(schedule const& s) { return takes::work_of_sequence(s); }
inline bool least_period(schedule const& s) { return takes::work_of_sequence(s); }
inline bool turn_of(pass const& what, int sequence_chunks) {
  return what.micro_batch >= 0 && what.micro_batch < most_passes && sequence_chunks > 0
         && sequence_chunks < most_passes;
}
inline bool planned_stays(schedule const& s, int device, auto) {
  return is_right(s) && is_index(device, s.order.size());
}
inline bool planned_residency(schedule const& s, auto) { return is_right(s); }
inline bool check_slot(schedule const& s, std::size_t device, std::size_t index) {
  return device < s.order.size() && index < s.order[device].size();
}
inline bool fuse_one(schedule const& s, std::size_t device, pass const&) {
  return device < s.order.size();
}
inline bool opens_pair(auto const& passes, std::size_t i) { return i < passes.size(); }

namespace catalog {

using namespace ashlar::catalog;

inline bool one_way(placement const& where, int count, tick slot) {
  return where.stage_count() > 0 && count > 0 && count < 1000 && slot > 0 && slot < 1 << 20;
}
inline bool warm_up_of(shape const& s, int d, interleaved_warm_up w) {
  return is_right(s) && is_index(d, static_cast<std::size_t>(s.p.value)) && w.each_hop >= 0
         && w.each_hop < 1000 && w.more >= 0 && w.more < 1000;
}
inline bool in_strict_turns(shape const& s, auto const&, auto, interleaved_warm_up w) {
  return takes::catalog::warm_up_of(s, 0, w);
}
inline bool in_groups(block const& b, shape const& s, int warm_up_hop) {
  return are_right(b, s) && b.cells.size() > 1 && !b.route.empty() && warm_up_hop >= 0
         && warm_up_hop < 1000;
}
inline bool group_of(shape const& s) { return check_shape(s).ok(); }
inline bool dualpipe_order(way& zero, way& one, int& h, int& half, int& count) {
  zero = way{.stage = 0, .first = 0};
  one = way{.stage = 7, .first = 8};
  half = 1 + (half & 3);
  h = (h & 3) % half;
  count = 2 * half + (count & 7);
  return true;
}
inline bool stp_order(int d, int p, int m) {
  return is_index(d, static_cast<std::size_t>(max_of(p, 0))) && p < 100 && m > 0 && m < 1000;
}
inline bool least_idle(schedule const& start, shape const& s, int limit, tick least) {
  return is_right(start) && check_costs(s, 1).ok() && limit > 0 && least >= 0 && least < max_tick;
}

}  // namespace catalog

inline bool clocks_of(int ranks, std::vector<clocked_message> const& messages,
                      std::vector<int> const& shared) {
  for (clocked_message const& m : messages)
    if (!is_index(m.from, static_cast<std::size_t>(max_of(ranks, 0)))
        || !is_index(m.to, static_cast<std::size_t>(max_of(ranks, 0))) || !(std::abs(m.delay) < 1e15))
      return false;
  return ranks > 0 && ranks < 100
         && (shared.empty() || shared.size() == static_cast<std::size_t>(ranks));
}

}  // namespace every::takes

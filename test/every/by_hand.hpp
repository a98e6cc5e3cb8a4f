// Calls of public templates, and of functions whose arguments no table makes. Each function here has the
// name of a public one, and arguments that a generator makes.
#pragma once

#include "every/takes_programs.hpp"
#include <ashlar/block/block.hpp>
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/catalog/searched.hpp>
#include <ashlar/catalog/v_family.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/fill/step_bound.hpp>
#include <ashlar/interop/csv_routes.hpp>
#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/interop/numbers.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/optimize/hill_climb.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/optimize/modulo_search.hpp>
#include <ashlar/optimize/tabu_search.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/plan/parts/variants.hpp>
#include <ashlar/program/operands.hpp>
#include <ashlar/program/slot_layout.hpp>
#include <ashlar/program/slot_sizes.hpp>
#include <ashlar/prove/complete.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/ordered.hpp>
#include <ashlar/prove/sharing.hpp>
#include <ashlar/run/identity.hpp>
#include <ashlar/run/measure_transfers.hpp>
#include <ashlar/simulate/durations.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace every {

// Calls a search of a right schedule.
template <class Search>
void with_justifier(schedule const& s, memory_limit const& limit, Search each) {
  if (!check(s).ok() || !has_workload(s) || s.where.route_count() != 1
      || !check(limit, s.where, s.micro_batch_count(), s.graph.sequence_chunks()).ok())
    return;
  justifier search(s, limit, {.passes = 2000});
  each(search);
}

// Calls call(instruction, device) for each of a right program that can be timed.
template <class Call>
void each_timed(program const& p, simulation_options const& o, Call call) {
  if (!is_right(p) || !check_can_be_timed(p, o).ok()) return;
  for (int d = 0; d < p.view().device_count; ++d)
    for (instruction const& i : p.view().stream(d)) call(i, d);
}
inline value_layout eight_bytes(value_key const&) { return {8, 8, element_type::f64}; }

}  // namespace every

namespace every::by_hand {

// core/
inline void min_of(tick a, tick b) { ashlar::min_of(a, b); }
inline void max_of(tick a, tick b) { ashlar::max_of(a, b); }
inline void greatest_common_divisor(tick a, tick b) {
  if (a >= 0 && b >= 0) ashlar::greatest_common_divisor(a, b);
}
inline void append(std::vector<int> list, std::vector<int> const& more) { ashlar::append(list, more); }
inline void reverse(std::vector<int> list) { ashlar::reverse(list); }
inline void wrong_size(table of, std::size_t entries, std::int64_t needed) {
  ashlar::wrong_size(of, entries, needed);
}
inline void refuse(diagnosis const& d) {
  if (!d.ok()) ashlar::refuse(d);
}
inline void for_each_link(interconnect const& links) {
  ashlar::for_each_link(links, [](link_speed const&) {});
}
inline void merge_sort(std::vector<tick> list) {
  ashlar::merge_sort(list, [](tick a, tick b) { return a < b; });
}
inline void sort_by_key(std::vector<tick> const& keys) {
  dynamic_array<keyed_index> list;
  for (tick const key : keys) list.push_back({key, list.size()});
  ashlar::sort_by_key(list);
}

// Blocks, bounds and schedules.
inline void make_block(placement const& where, costs const& cost, tick interval, tick offset) {
  ashlar::make_block(where, cost, interval, {pass_kind::forward, pass_kind::backward},
                     [=](pass_kind, int) { return offset; });
}
inline void for_each_path_argument(schedule const& s) {
  if (has_path_bound(s)) ashlar::for_each_path_argument(s, [](bound_argument const&, tick, tick) {});
}
inline void for_each_input(schedule const& s) {
  if (!check(s).ok()) return;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (!is_part(t.what)) ashlar::for_each_input(s.graph, t.what, [](auto const&...) {});
}
inline void recomputing(memory_model const& memory, int stage_count,
                        std::vector<int> const& recomputed) {
  if (stage_count < 1 << 16 && check(memory, stage_count).ok())
    ashlar::recomputing(memory, stage_count, recomputed,
                        [](int, stage_memory const& m) { return m.stash; });
}

// Work in gaps.
inline void with_parts(schedule const& s, work_graph const& work) {
  if (!check(s).ok()) return;
  part_times const times(s, work.view());
  ashlar::with_parts(s, work, times);
}
inline void steps_of(schedule const& s, tick length, fill_options const& o) {
  if (!check(s).ok() || length < 0 || length >= max_tick) return;
  part_times times(s, s.work.view());
  ashlar::steps_of(s, length, times, o);
}
inline void heads_of(schedule const& s) {
  if (check(s).ok()) ashlar::heads_of(part_times(s, s.work.view()));
}

// Texts.
inline void find_csv_routes(std::string_view text, csv_options const& o) {
  csv_problems problems(o.most_problems);
  csv_tokens const tokens = read_csv_tokens(text, o, problems);
  if (problems.none()) ashlar::find_csv_routes(tokens, problems);
}
inline void read_csv_tokens(std::string_view text, csv_options const& o) {
  csv_problems problems(o.most_problems);
  ashlar::read_csv_tokens(text, o, problems);
}
inline void read_number(std::string_view text) {
  int whole = 0;
  double real = 0;
  ashlar::read_number(text, whole);
  ashlar::read_number(text, real);
}
inline void range_words(tick least, tick most) { ashlar::range_words(least, most); }
inline void number_within(std::string const& given_by, std::string_view text, int least, int most) {
  ashlar::number_within<int>(given_by, text, least, most);
}

// Searches.
inline void any_dispatch_rule(schedule const& s, memory_limit const& limit) {
  with_justifier(s, limit, [](justifier& j) { ashlar::any_dispatch_rule(j); });
}
inline void any_justification(schedule const& s, memory_limit const& limit) {
  with_justifier(s, limit, [](justifier& j) { ashlar::any_justification(j, 2); });
}
inline void iterated_local_search(schedule const& s, memory_limit const& limit) {
  with_justifier(s, limit, [](justifier& j) { ashlar::iterated_local_search(j); });
}
inline void iterated_tabu_search(schedule const& s, memory_limit const& limit) {
  with_justifier(s, limit, [&](justifier& j) { ashlar::iterated_tabu_search(j, limit); });
}
inline void improve_modulo_blocks(schedule const& s, memory_limit const& limit) {
  with_justifier(s, limit, [&](justifier& j) { ashlar::improve_modulo_blocks(j, limit, 500); });
}
inline void improve_orders(schedule const& s, memory_limit const& limit) {
  with_justifier(s, limit,
                 [&](justifier& j) { ashlar::improve_orders(j, {s}, limit, {.passes = 2000}); });
}

// Programs.
inline void for_each_operand(program const& p) {
  if (!is_right(p)) return;
  program_view const view = p.view();
  program_shape shape(view);
  shape.add_all();
  for (int d = 0; d < view.device_count; ++d)
    for (instruction const& i : view.stream(d))
      ashlar::for_each_operand(shape, d, i, [](value_key const&, ashlar::access, int) {});
}
inline void message_size(program const& p, simulation_options const& o) {
  each_timed(p, o, [&](instruction const& i, int) {
    if (i.code == opcode::send || i.code == opcode::receive) ashlar::message_size(o, i, p.graph);
  });
}
inline void time_of_transfer(program const& p, simulation_options const& o) {
  each_timed(p, o, [&](instruction const& i, int d) {
    if (i.code == opcode::send) ashlar::time_of_transfer(o, i, d, p.graph);
  });
}
inline void time_of_copy(program const& p, simulation_options const& o) {
  each_timed(p, o, [&](instruction const& i, int d) { ashlar::time_of_copy(o, p.view(), i, d); });
}
inline void slot_sizes(program const& p, int device) {
  if (is_right(p) && is_device(p.view(), device))
    ashlar::slot_sizes(p.view(), device, [](value_key const&) { return 8; });
}
inline void slot_layout(program const& p, int rank, int device) {
  if (is_right(p) && takes::number_of(p.view(), rank, device))
    ashlar::slot_layout(p.view(), rank, device, eight_bytes);
}
inline void identity_of(program const& p) {
  if (is_right(p)) ashlar::identity_of(p.view(), layout_function(eight_bytes));
}
inline void check_complete(program const& p) {
  if (!check_well_formed(p).ok()) return;
  message_index index(p);
  ashlar::check_complete(p, index);
}
inline void check_ordered(program const& p) {
  if (!check_well_formed(p).ok()) return;
  message_index index(p);
  if (ashlar::check_complete(p, index).ok()) ashlar::check_ordered(p, index);
}
inline void check_deadlock_free(program const& p) {
  if (!check_well_formed(p).ok()) return;
  message_index index(p);
  if (ashlar::check_complete(p, index).ok()) ashlar::check_deadlock_free(p, index);
}
inline void check_sharing(program const& p) {
  if (!check_well_formed(p).ok()) return;
  message_index index(p);
  if (ashlar::check_complete(p, index).ok()) ashlar::check_sharing(p, index);
}

namespace measure {

inline void link_of(std::vector<double> const& times, int repeats, double steps, double passes) {
  ashlar::measure::link_of([&](ashlar::measure::probe) { return times; }, repeats, steps, passes);
}
inline void ring_of(std::vector<double> const& times, int repeats, int ranks) {
  ashlar::measure::ring_of([&](ashlar::measure::probe) { return times; }, repeats, ranks);
}

}  // namespace measure

// Plans.
inline void pareto_front(std::vector<variant> const& all) {
  for (variant const& v : all)
    if (v.time < 0 || v.penalty < 0) return;
  ashlar::pareto_front(all, [](variant const& v) -> variant const& { return v; });
}
inline void cheapest_within(std::vector<variant> const& front, byte_count limit) {
  ashlar::cheapest_within(front, limit, [](variant const& v) -> variant const& { return v; });
}

}  // namespace every::by_hand

// Definitions of compare.hpp.
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/tables.hpp>
#include <ashlar/simulate/part_timeline.hpp>
#include <ashlar/study/compare.hpp>
#include <ashlar/study/schedule_slack.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace ashlar {

ASHLAR_INLINE std::optional<compared_bound> comparison_bound(comparison const& c) {
  if (!c.has_task || c.unit < 1) return std::nullopt;
  bound const b = workload_bound(c.task);
  return compared_bound{static_cast<double>(b.makespan) / static_cast<double>(c.unit),
                        static_cast<double>(b.span) / static_cast<double>(c.unit)};
}

ASHLAR_INLINE int count_transfers(schedule const& s) {
  if (diagnosis const d = check_tables(s); !d.ok()) refuse(d);
  int count = 0;
  bool const trains = s.mode == execution_mode::training;
  auto const differ = [&](int route, int from, int to, result r) {
    return s.where.device_of(route, from, r) != s.where.device_of(route, to, r) ? 1 : 0;
  };
  for (int route : s.route)
    for (int from = 0; from < s.stage_count(); ++from) {
      if (trains && s.where.device_of(route, from) != s.where.backward_device_of(route, from)) ++count;
      for (int to : s.graph.successors(from))
        count += differ(route, from, to, result::activation)
                 + (trains ? differ(route, from, to, result::input_gradient) : 0);
    }
  return count;
}

ASHLAR_INLINE double count_weight_copies(placement const& where) {
  if (where.stage_count() == 0) return 0;
  std::size_t held = 0;
  parameter_groups const groups(where);
  for (int stage = 0; stage < where.stage_count(); ++stage) held += groups.holders(stage).size();
  return static_cast<double>(held) / where.stage_count();
}

}  // namespace ashlar

namespace ashlar::study_detail {

ASHLAR_INLINE diagnosis check_sequence_chunk_count(costs const& cost, int parts, int sequence_chunks) {
  int const q = cost.passes.sequence_chunks(), m = cost.passes.micro_batches();
  if (q != 1 && sequence_chunks != 1 && q != sequence_chunks)
    return wrong_size(table::sequence_chunk_costs, q, sequence_chunks);
  if (m != 0 && parts != 1) return wrong_size(table::sequence_chunk_costs, m, parts);
  return {};
}

// The parts of stages that take `in_stage` slivers each, of pieces cut into `slivers`. Slivers of one
// piece stay together: their parts take longer, they do not come more often. Throws
// violation{rule::parameter_is_at_most} for stages of more parts than are braided.
ASHLAR_INLINE part_costs parts_of_stages(part_costs const& pieces, int stage_count, int slivers,
                                         int in_stage) {
  part_costs made{.how = pieces.how};
  tick const count = static_cast<tick>(pieces.stages.size());
  for (tick stage = 0; stage < stage_count; ++stage) {
    stage_parts& own = made.stages.emplace_back();
    for (tick i = stage * in_stage, end = i + in_stage; i < end;) {
      tick const piece = i / slivers, next = min_of(end, (piece + 1) * slivers);
      stage_parts const& whole = pieces.stages[static_cast<std::size_t>(piece % count)];
      for (auto const list : {&stage_parts::forward, &stage_parts::backward})
        for (pass_part part : whole.*list) {
          part.duration = saturating_product(part.duration, next - i);
          (own.*list).push_back(part);
        }
      i = next;
      must_be(at_most(parameter::braid_size,
                      static_cast<std::int64_t>(max_of<std::size_t>(own.forward.size(), 1)
                                                * max_of<std::size_t>(own.backward.size(), 1)),
                      most_braid_sizes));
    }
  }
  return made;
}

// The costs of stages that share the model equally and take each micro-batch in several `parts`, which
// may be chunks of its sequence: time is in units so small that all take whole ones. A cut may go
// through a piece.
ASHLAR_INLINE stage_costs costs_of_stages(divided_model const& model, int stage_count, int parts,
                                          int sequence_chunks, int device_count) {
  if (diagnosis const d = check_sequence_chunk_count(model.cost, parts, sequence_chunks); !d.ok())
    refuse(d);
  costs cost = model.cost;
  if (auto const count = static_cast<std::size_t>(device_count); cost.on.speeds.size() > count)
    cost.on.speeds.resize(count);
  if (diagnosis const d = check(cost, max_of(1, cost.passes.stages()), device_count,
                                max_of(1, cost.passes.micro_batches()), cost.passes.sequence_chunks());
      !d.ok())
    refuse(d);
  if (!model.parts.stages.empty()) must_be(check(model.parts));
  if (model.piece_count < 1) refuse({.broken = rule::counts_are_positive, .number = model.piece_count});
  must_be(at_most(parameter::stage_count, model.piece_count, most_stages));
  if (model.kept_percent < 0 || model.kept_percent > 100)
    refuse({.broken = rule::sizes_fit, .number = model.kept_percent});
  if (sequence_chunks == 1) cost = of_whole_sequences(std::move(cost));
  int const q = cost.passes.sequence_chunks();  // distinguished; 1: costs are of whole sequences
  bool const alike = cost.passes.stages() == 0;
  int const piece_count = alike ? model.piece_count : cost.passes.stages();
  // Cuts each piece into slivers, such that a stage has whole ones.
  int const common = std::gcd(stage_count, piece_count);
  int const slivers = stage_count / common, in_stage = piece_count / common;
  bool const has_parts = !model.parts.stages.empty();
  int const shared = alike && !has_parts ? std::gcd(in_stage, parts / q) : 1;
  stage_costs made{cost, saturating_product(slivers, parts / q / shared)};
  std::vector<stage_cost> each;
  for (int stage = 0; stage < (alike ? 1 : stage_count); ++stage)
    for (int k = 0; k < cost.passes.period(); ++k) {
      stage_cost sum = stage_cost::nothing();
      for (tick i = tick{stage} * in_stage; i < (tick{stage} + 1) * in_stage; ++i)
        sum.add(cost.passes.of(static_cast<int>(i / slivers), k));
      sum.change_each([&](tick& time) { time /= shared; });
      each.push_back(sum);
    }
  int const m = cost.passes.micro_batches();
  made.cost.passes = m == 0 ? pass_costs::by_stage_and_sequence_chunk(std::move(each), q)
                            : pass_costs::by_stage_and_micro_batch(std::move(each), m);
  made.cost.passes.overlapped = cost.passes.overlapped;
  made.cost.passes.overlapped.change_each(
      [&](tick pair) { return saturating_product(pair, in_stage / shared); });
  if (has_parts) {
    made.parts = parts_of_stages(model.parts, alike ? 1 : stage_count, slivers, in_stage);
    made.cost.passes.overlapped = costs_of(made.parts).overlapped;
  }
  stretch_transfers(made.cost.on, made.unit);
  if (q == 1) {
    finer_costs finer = with_causal_chunks(std::move(made.cost), sequence_chunks, model.causal);
    made.cost = std::move(finer.cost);
    made.unit = saturating_product(made.unit, finer.unit);
  }
  return made;
}

ASHLAR_INLINE std::vector<double> peaks_of(schedule const& s, int parts, int kept_percent) {
  std::vector<double> peaks;
  double const whole = static_cast<double>(s.stage_count()) * parts;
  std::vector<int> const again = recomputed_stages(s);
  if (again.empty()) {
    for (int peak : peak_activations(s)) peaks.push_back(peak / whole);
    return peaks;
  }
  memory_model memory;
  memory.stages[0].stash = 100;
  memory = recomputing(std::move(memory), s.stage_count(), again,
                       [&](int, stage_memory const&) { return byte_count{kept_percent}; });
  for (byte_count peak : peak_memory(s, memory))
    peaks.push_back(static_cast<double>(peak) / (100 * whole));
  return peaks;
}

// Requires `s` to have the costs given.
ASHLAR_INLINE comparison compare_made(schedule const& s, stage_costs const& given, int parts,
                                      int kept_percent) {
  auto const in_ticks = [&](tick t) { return static_cast<double>(t) / static_cast<double>(given.unit); };
  comparison c{.where = s.where,
               .device_count = s.device_count(),
               .stage_count = s.stage_count(),
               .micro_batch_count = s.micro_batch_count(),
               .makespan = in_ticks(makespan(s)),
               .span = in_ticks(span(s)),
               .bubble_rate = bubble_rate(s),
               .bubble_rate_span = bubble_rate_span(s),
               .overhead = overhead(s),
               .overhead_span = overhead_span(s),
               .peaks = peaks_of(s, parts, kept_percent),
               .weight_copies = count_weight_copies(s.where),
               .transfers = count_transfers(s),
               .trains = s.mode == execution_mode::training,
               .has_task = has_workload(s) && check(s).ok(),
               .made = s,
               .unit = given.unit};
  if (c.has_task) c.task = workload_of(s);
  if (are_sums_of(s.cost.passes, given.parts, s.stage_count()))
    c.makespan_of_parts = in_ticks(time_parts(s, given.parts).makespan);
  for (link_slack const& l : link_slacks(s))
    c.links.push_back({l.from, l.to, l.transfers, in_ticks(l.slack)});
  costs at_once = given.cost;
  at_once.on.links = {};
  c.exposed_communication = c.makespan - in_ticks(makespan(retime(s, at_once)));
  return c;
}

}  // namespace ashlar::study_detail

namespace ashlar {

ASHLAR_INLINE stage_costs costs_of_stages(divided_model const& model, schedule const& s, int parts,
                                          devices p) {
  must_have_form(s);
  if (!is_chain(s.graph)) refuse({.broken = rule::bound_is_for_a_chain});
  int const q = s.graph.sequence_chunks();
  if (parts < q) refuse({.broken = rule::counts_are_positive, .number = std::int64_t{parts} - q});
  return study_detail::costs_of_stages(model, s.stage_count(), parts, q, p.value);
}

ASHLAR_INLINE stage_costs costs_of_stages(divided_model const& model, stages n, devices p) {
  if (n.value < 1) refuse({.broken = rule::counts_are_positive, .number = n.value});
  return study_detail::costs_of_stages(model, n.value, 1, 1, p.value);
}

ASHLAR_INLINE comparison compare(schedule const& s, divided_model const& model) {
  int const parts = s.graph.sequence_chunks();
  auto const given = costs_of_stages(model, s, parts, devices{s.device_count()});
  return study_detail::compare_made(retime(s, given.cost), given, parts, model.kept_percent);
}

ASHLAR_INLINE comparison compare(catalog::entry const& e, catalog::shape s, divided_model const& model) {
  s.cost = {};
  stage_costs given;
  int parts = 1;
  {
    schedule const alike = e.make(s);
    parts = alike.micro_batch_count() / s.m.value;
    given = costs_of_stages(model, alike, parts, s.p);
  }
  s.cost = given.cost;
  return study_detail::compare_made(e.make(s), given, parts, model.kept_percent);
}

}  // namespace ashlar

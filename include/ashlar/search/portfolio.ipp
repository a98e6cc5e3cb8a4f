// Definitions of portfolio.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/search/portfolio.hpp>

#include <algorithm>
#include <utility>

namespace ashlar {

namespace search_detail {

// The chunks of a device, for any layout.
inline int chunks_of(layout_choice const& c) {
  return max_of(1, min_of(c.chunk_count, c.problem.where.stage_count()));
}

}  // namespace search_detail

ASHLAR_INLINE layout_choice choose_layout(model_share const& model, placement_kind shape,
                                          int chunk_count, int memory_percent) {
  if (chunk_count < 1 || memory_percent < 0)
    refuse({.broken = chunk_count < 1 ? rule::counts_are_positive : rule::sizes_fit,
            .number = chunk_count < 1 ? chunk_count : memory_percent});
  tick const part = chunk_count;
  layout_choice c{
      .shape = shape,
      .chunk_count = chunk_count,
      .unit = part,
      .problem = {.where = lay_out(shape, model.p, chunk_count),
                  .m = model.m,
                  .cost = model.cost,
                  .limit = chunk_activations(saturating_product(saturating_product(memory_percent, part),
                                                                max_of(0, model.p.value))
                                             / 100)}};
  stretch_transfers(c.problem.cost.on, part);
  return c;
}

ASHLAR_INLINE std::vector<int> first_chunks(placement const& where, int count) {
  std::vector<int> found, seen(static_cast<std::size_t>(where.device_count()), 0);
  for (int stage = 0; stage < where.stage_count(); ++stage)
    if (nth(seen, where.device_of(0, stage))++ < count) found.push_back(stage);
  return found;
}

ASHLAR_INLINE diagnosis check(variety const& how, search_problem const& problem, int sequence_chunks) {
  if (int const count = problem.where.stage_count();
      how.kept_percent.size() != 1 && static_cast<int>(how.kept_percent.size()) != count)
    return wrong_size(table::stage_memory, how.kept_percent.size(), count);
  for (int const percent : how.kept_percent)
    if (percent < 0 || percent > 100) return {.broken = rule::sizes_fit, .number = percent};
  int const m = problem.m.value;
  for (int const count : {m, sequence_chunks})
    if (count < 1) return {.broken = rule::counts_are_positive, .number = count};
  return at_most(parameter::sequence_chunk_count, sequence_chunks, most_passes / m);
}

ASHLAR_INLINE layout_choice vary(layout_choice c, std::vector<int> const& recomputed,
                                 int sequence_chunks, variety const& how) {
  if (diagnosis const d = check(how, c.problem, sequence_chunks); !d.ok()) refuse(d);
  constexpr std::int64_t percents = 100;
  memory_limit& limit = c.problem.limit;
  placement const& where = c.problem.where;
  c.recomputed_chunks = search_detail::chunks_of(c);
  while (c.recomputed_chunks >= 0 && first_chunks(where, c.recomputed_chunks) != recomputed)
    --c.recomputed_chunks;  // to other_stages
  c.sequence_chunks = c.problem.sequence_chunks = sequence_chunks;
  if (how.by_sequence_chunk && how.by_sequence_chunk->passes.sequence_chunks() == sequence_chunks) {
    pair_costs const overlapped = c.problem.cost.passes.overlapped;
    c.problem.cost.passes = how.by_sequence_chunk->passes;
    c.problem.cost.passes.overlapped = overlapped;
  } else {
    c.unit = saturating_product(c.unit, sequence_chunks);
    stretch_transfers(c.problem.cost.on, sequence_chunks);
    finer_costs made = with_causal_chunks(std::move(c.problem.cost), sequence_chunks, how.causal);
    c.unit = saturating_product(c.unit, made.unit);
    c.problem.cost = std::move(made.cost);
  }
  std::int64_t const finer = recomputed.empty() ? 1 : percents;
  c.memory_unit = saturating_product(c.memory_unit, finer * sequence_chunks);
  for (byte_count& most : limit.budget) most = saturating_product(most, finer * sequence_chunks);
  for (stage_memory& m : limit.memory.stages) {
    for (byte_count* size : {&m.weights, &m.weight_gradient, &m.optimizer_state})
      *size = saturating_product(*size, finer * sequence_chunks);
    for (byte_count* size : {&m.stash, &m.stash_left, &m.weight_stash})
      if (*size != stage_memory::all) *size = saturating_product(*size, finer);
  }
  limit.memory = recomputing(
      std::move(limit.memory), where.stage_count(), recomputed,
      [&](int stage, stage_memory const& m) { return m.stash / finer * how.kept_percent_of(stage); });
  return c;
}

ASHLAR_INLINE std::vector<int> chunks_without_room(layout_choice const& plain, int sequence_chunks,
                                                   variety const& how) {
  if (diagnosis const d = check(how, plain.problem, sequence_chunks); !d.ok()) refuse(d);
  constexpr byte_count percents = 100;
  placement const& where = plain.problem.where;
  memory_limit const& limit = plain.problem.limit;
  int const count = where.stage_count(), v = search_detail::chunks_of(plain);
  std::vector<int> found;
  for (int device = 0; device < where.device_count(); ++device) {
    auto const held = [&](int again) {  // if the first `again` chunks recompute, in percent
      byte_count sum = 0, most_again = 0;
      for (int stage = 0, chunk = 0; stage < count; ++stage) {
        if (where.device_of(0, stage) != device) continue;
        byte_count const stash = limit.memory.of(stage).stash,
                         share = chunk++ < again ? how.kept_percent_of(stage) : percents;
        int const in_flight = (count - stage + v - 1) / v + sequence_chunks - 1;
        sum = saturating_sum(
            sum, saturating_product(saturating_product(stash, share),
                                    min_of(in_flight, plain.problem.m.value * sequence_chunks)));
        most_again = max_of(most_again, saturating_product(stash, percents - share));
      }
      return saturating_sum(sum, most_again);
    };
    byte_count const free = limit.free_on(where, device);
    byte_count const room = free < 0 ? free : saturating_product(free, percents * sequence_chunks);
    int again = 0;
    while (again < v && held(again) > room) ++again;
    for (int stage = 0; stage < count && again > 0; ++stage) {
      if (where.device_of(0, stage) != device) continue;
      found.push_back(stage);
      --again;
    }
  }
  merge_sort(found, [](int a, int b) { return a < b; });
  return found;
}

ASHLAR_INLINE std::vector<std::vector<int>> sets_for(layout_choice const& plain, int sequence_chunks,
                                                     variety const& how) {
  if (!how.recomputed.empty()) return how.recomputed;
  std::vector<std::vector<int>> sets(1);
  bool saves = false;
  for (int const percent : how.kept_percent) saves = saves || percent < 100;
  if (!saves) return sets;
  for (int again = 1; again <= search_detail::chunks_of(plain); ++again)
    sets.push_back(first_chunks(plain.problem.where, again));
  if (!is_of_a_chain(plain.problem)) return sets;
  std::vector<int> some = chunks_without_room(plain, sequence_chunks, how);
  if (std::find(sets.begin(), sets.end(), some) == sets.end()) sets.push_back(std::move(some));
  return sets;
}

ASHLAR_INLINE std::vector<layout_choice> variants_of(layout_choice const& plain, variety const& how) {
  if (diagnosis const d = check(how, plain.problem, how.most_sequence_chunks); !d.ok()) refuse(d);
  std::vector<layout_choice> found;
  std::vector<int> pieces = {1};
  if (how.by_sequence_chunk)
    pieces.push_back(how.by_sequence_chunk->passes.sequence_chunks());
  else
    for (int q = 2; q <= how.most_sequence_chunks; q *= 2) pieces.push_back(q);
  for (int const q : pieces)
    for (std::vector<int> const& again : sets_for(plain, q, how))
      found.push_back(vary(plain, again, q, how));
  return found;
}

ASHLAR_INLINE std::vector<layout_choice> plain_layouts(model_share const& model, int memory_percent) {
  std::vector<layout_choice> found;
  for (auto const& [shape, count] : {std::pair{placement_kind::linear, 1},
                                     {placement_kind::v, 2},
                                     {placement_kind::looped, 2},
                                     {placement_kind::looped, 4},
                                     {placement_kind::wave, 4}})
    found.push_back(choose_layout(model, shape, count, memory_percent));
  return found;
}

ASHLAR_INLINE std::vector<layout_choice> layouts_for(model_share const& model, int memory_percent,
                                                     variety const& how) {
  std::vector<layout_choice> found;
  for (layout_choice const& plain : plain_layouts(model, memory_percent))
    for (layout_choice& c : variants_of(plain, how)) {
      // The rest of a whole chunk activation counts, too, where memory counts in parts of these.
      c.problem.limit.budget = {
          saturating_product(saturating_product(memory_percent, plain.problem.where.stage_count()),
                             c.memory_unit)
          / 100};
      if (check(c.problem).ok()) found.push_back(static_cast<layout_choice&&>(c));
    }
  return found;
}

}  // namespace ashlar

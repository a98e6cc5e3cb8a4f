// The same model cut, laid out and recomputed in several ways. Each is searched, to find which suits a
// memory limit.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/search/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// `given`: a placement that no formula makes.
enum class layout : unsigned char { linear, v, looped, wave, given };

// How layers were dealt to stages (plan/layered_layouts.hpp); `none`: stages are given as they are.
enum class layer_division : unsigned char { none, even, balanced, promising };

// A model of which each of p devices holds a p-th, in one or more chunks.
struct model_share {
  devices p;
  micro_batches m;
  costs cost;  // of a p-th of the model, not of a chunk: one stage_cost, the links, the speeds
};

// A way to lay it out. Fixed point: one model tick is `unit` problem ticks, and one unit of the limit
// given is `memory_unit` of the problem's, so that chunks take whole numbers of both.
struct layout_choice {
  static constexpr int other_stages = -1;

  layout shape = layout::linear;
  int chunk_count = 1;        // on a device
  int recomputed_chunks = 0;  // the first of each device: those that would be held for longest; or
                              // other_stages, which recomputed_stages(problem) names
  int sequence_chunks = 1;
  tick unit = 1;
  std::int64_t memory_unit = 1;
  search_problem problem;
  std::vector<int> layers = {};  // of each stage, if they were dealt
  layer_division division = layer_division::none;
};

// What else stages may do.
struct variety {
  // What a stage that recomputes keeps of its activation, one share for all or one each; 100: of those
  // that are not named below, none recomputes.
  std::vector<int> kept_percent = {100};
  int most_sequence_chunks = 1;                   // that sequences are cut into; powers of two
  std::vector<std::vector<int>> recomputed = {};  // sets of stages to try, ascending; none: sets_for()
  causal_share causal = {};                       // for which later chunks of a sequence take longer
  // What the chunks of a sequence take, if that is known: then they are cut so or not at all. In ticks
  // of the layout, and messages as long as it says.
  literal_optional<costs> by_chunk = std::nullopt;

  constexpr int kept_percent_of(int stage) const {
    return kept_percent[kept_percent.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }
};

// Not for layout::given.
constexpr placement lay_out(layout shape, devices p, int chunk_count) {
  switch (shape) {
    case layout::linear:
      return linear(p);
    case layout::v:
      return v_shape(p);
    case layout::looped:
      return looped(p, chunks{chunk_count});
    case layout::wave:
      return wave(p, waves{chunk_count / 2});
    case layout::given:
      break;
  }
  return linear(p);
}

// `memory_percent`: of what 1F1B holds at most, p micro-batches of a p-th of the model. In chunk
// activations.
constexpr layout_choice choose_layout(model_share const& model, layout shape, int chunk_count,
                                      int memory_percent) {
  tick const part = chunk_count;
  layout_choice c{.shape = shape,
                  .chunk_count = chunk_count,
                  .unit = part,
                  .problem = {.where = lay_out(shape, model.p, chunk_count),
                              .m = model.m,
                              .cost = model.cost,
                              .limit = chunk_activations(memory_percent * model.p.value * part / 100)}};
  stretch_transfers(c.problem.cost, part);
  return c;
}

// The stages that are among the first `count` chunks of their devices, on the first route.
constexpr std::vector<int> first_chunks(placement const& where, int count) {
  std::vector<int> found, seen(static_cast<std::size_t>(where.device_count()), 0);
  for (int stage = 0; stage < where.stage_count(); ++stage)
    if (nth(seen, where.device_of(0, stage))++ < count) found.push_back(stage);
  return found;
}

// The same layout within the same memory, with sequences cut into chunks, which take equal parts of the
// memory of the whole, and of its time where nothing else is said, and with some stages recomputed. A
// message takes as long as that of a whole sequence.
constexpr layout_choice vary(layout_choice c, std::vector<int> const& recomputed, int sequence_chunks,
                             variety const& how) {
  constexpr std::int64_t percents = 100;
  memory_limit& limit = c.problem.limit;
  placement const& where = c.problem.where;
  c.recomputed_chunks = c.chunk_count;
  while (c.recomputed_chunks >= 0 && first_chunks(where, c.recomputed_chunks) != recomputed)
    --c.recomputed_chunks;  // to other_stages
  c.sequence_chunks = c.problem.sequence_chunks = sequence_chunks;
  if (how.by_chunk && how.by_chunk->sequence_chunks == sequence_chunks) {
    c.problem.cost.per_stage = how.by_chunk->per_stage;
    c.problem.cost.sequence_chunks = sequence_chunks;
  } else {
    c.unit *= sequence_chunks;
    stretch_transfers(c.problem.cost, sequence_chunks);
    finer_costs made = with_causal_chunks(std::move(c.problem.cost), sequence_chunks, how.causal);
    c.unit *= made.unit;
    c.problem.cost = std::move(made.cost);
  }
  std::int64_t const finer = recomputed.empty() ? 1 : percents;
  c.memory_unit *= finer * sequence_chunks;
  for (byte_count& most : limit.budget) most = saturating_product(most, finer * sequence_chunks);
  std::vector<byte_count> checkpoints;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    checkpoints.push_back(limit.memory.of(stage).stash * how.kept_percent_of(stage));
  for (stage_memory& m : limit.memory.stages) {
    for (byte_count* size : {&m.weights, &m.weight_gradient, &m.optimizer_state})
      *size = saturating_product(*size, finer * sequence_chunks);
    for (byte_count* size : {&m.stash, &m.stash_left, &m.weight_stash})
      if (*size != stage_memory::all) *size *= finer;
  }
  limit.memory = recomputing(std::move(limit.memory), where.stage_count(), recomputed, checkpoints);
  return c;
}

// As few of the first chunks of each device as leave room for what it holds at the pace of 1F1B, all of
// them where none do: of a stage, so many micro-batches as there are devices from it to the end of the
// chain; of sequences in q chunks, q - 1 chunks more. Devices of which some have more to hold or less
// room then recompute different numbers of chunks.
constexpr std::vector<int> chunks_without_room(layout_choice const& plain, int sequence_chunks,
                                               variety const& how) {
  constexpr byte_count percents = 100;
  placement const& where = plain.problem.where;
  memory_limit const& limit = plain.problem.limit;
  int const count = where.stage_count(), v = plain.chunk_count;
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
    byte_count const room = saturating_product(limit.free_on(where, device), percents * sequence_chunks);
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

// The stages that may recompute: none; the first chunk of each device, the first two, and so on; and
// those without room, if that is another set. Or the sets asked for.
constexpr std::vector<std::vector<int>> sets_for(layout_choice const& plain, int sequence_chunks,
                                                 variety const& how) {
  if (!how.recomputed.empty()) return how.recomputed;
  std::vector<std::vector<int>> sets(1);
  bool saves = false;
  for (int const percent : how.kept_percent) saves = saves || percent < 100;
  if (!saves) return sets;
  for (int again = 1; again <= plain.chunk_count; ++again)
    sets.push_back(first_chunks(plain.problem.where, again));
  if (!is_of_a_chain(plain.problem)) return sets;
  std::vector<int> some = chunks_without_room(plain, sequence_chunks, how);
  if (std::find(sets.begin(), sets.end(), some) == sets.end()) sets.push_back(std::move(some));
  return sets;
}

// Every set of stages that may recompute, every number of chunks that sequences may be cut into; the
// layout as it is comes first, unless the sets asked for begin with another. Throws violation:
// rule::every_pass_is_known for a stage out of range, rule::tables_agree unless there is one share for
// all stages or one each.
constexpr std::vector<layout_choice> variants_of(layout_choice const& plain, variety const& how) {
  if (int const count = plain.problem.where.stage_count();
      how.kept_percent.size() != 1 && static_cast<int>(how.kept_percent.size()) != count)
    refuse(wrong_size(table::stage_memory, how.kept_percent.size(), count));
  std::vector<layout_choice> found;
  std::vector<int> pieces = {1};
  if (how.by_chunk)
    pieces.push_back(how.by_chunk->sequence_chunks);
  else
    for (int q = 2; q <= how.most_sequence_chunks; q *= 2) pieces.push_back(q);
  for (int const q : pieces)
    for (std::vector<int> const& again : sets_for(plain, q, how))
      found.push_back(vary(plain, again, q, how));
  return found;
}

// One chunk a device; two and four, looped and in waves.
constexpr std::vector<layout_choice> plain_layouts(model_share const& model, int memory_percent) {
  std::vector<layout_choice> found;
  for (auto const& [shape, count] : {std::pair{layout::linear, 1},
                                     {layout::v, 2},
                                     {layout::looped, 2},
                                     {layout::looped, 4},
                                     {layout::wave, 4}})
    found.push_back(choose_layout(model, shape, count, memory_percent));
  return found;
}

// Each of them in all variants. Those that the memory leaves no schedule for are not among them.
constexpr std::vector<layout_choice> layouts_for(model_share const& model, int memory_percent,
                                                 variety const& how = {}) {
  std::vector<layout_choice> found;
  for (layout_choice const& plain : plain_layouts(model, memory_percent))
    for (layout_choice& c : variants_of(plain, how)) {
      // Where memory counts in parts of chunk activations, what is left of a whole one counts, too.
      c.problem.limit.budget = {memory_percent * plain.problem.where.stage_count() * c.memory_unit
                                / 100};
      if (check(c.problem).ok()) found.push_back(static_cast<layout_choice&&>(c));
    }
  return found;
}

}  // namespace ashlar

// The same model cut, laid out and recomputed in several ways, each to be searched: which of them suits
// a memory limit.
#pragma once

#include <ashlar/search/search.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// `given`: a placement that no formula makes.
enum class layout : unsigned char { linear, v, looped, wave, given };

// A model of which each of p devices holds a p-th, in one or more chunks.
struct model_share {
  devices p;
  micro_batches m;
  costs cost;  // of a p-th of the model, not of a chunk: one stage_cost, the links, the speeds
};

// A way to lay it out. Fixed point: one model tick is `unit` problem ticks, and one unit of the limit
// given is `memory_unit` of the problem's, so that chunks take whole numbers of both.
struct layout_choice {
  layout shape = layout::linear;
  int chunk_count = 1;        // on a device
  int recomputed_chunks = 0;  // the first of each device: those that would be held for longest
  int sequence_chunks = 1;
  tick unit = 1;
  std::int64_t memory_unit = 1;
  search_problem problem;
};

// What each chunk may do besides.
struct variety {
  int kept_percent = 100;        // of its activation, if it recomputes; 100: none does
  int most_sequence_chunks = 1;  // that sequences are cut into; powers of two
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
    if (seen[static_cast<std::size_t>(where.device_of(0, stage))]++ < count) found.push_back(stage);
  return found;
}

// The same layout within the same memory, with sequences cut into chunks, which take equal parts of the
// time and memory of the whole, and with some chunks of the model recomputed. A message takes as long as
// that of a whole sequence.
constexpr layout_choice vary(layout_choice c, int recomputed_chunks, int sequence_chunks,
                             int kept_percent) {
  constexpr std::int64_t percents = 100;
  memory_limit& limit = c.problem.limit;
  c.recomputed_chunks = recomputed_chunks;
  c.sequence_chunks = c.problem.sequence_chunks = sequence_chunks;
  c.unit *= sequence_chunks;
  stretch_transfers(c.problem.cost, sequence_chunks);
  std::int64_t const finer = recomputed_chunks > 0 ? percents : 1;
  c.memory_unit *= finer * sequence_chunks;
  for (byte_count& most : limit.budget) most = saturating_product(most, finer * sequence_chunks);
  std::vector<byte_count> checkpoints;
  for (stage_memory& m : limit.memory.stages) {
    checkpoints.push_back(m.stash * kept_percent);
    for (byte_count* size : {&m.weights, &m.weight_gradient, &m.optimizer_state})
      *size = saturating_product(*size, finer * sequence_chunks);
    for (byte_count* size : {&m.stash, &m.stash_left, &m.weight_stash})
      if (*size != stage_memory::all) *size *= finer;
  }
  limit.memory = recomputing(std::move(limit.memory), c.problem.where.stage_count(),
                             first_chunks(c.problem.where, recomputed_chunks), checkpoints);
  return c;
}

// Every number of chunks that may recompute, every number of chunks that sequences may be cut into; the
// layout as it is comes first.
constexpr std::vector<layout_choice> variants_of(layout_choice const& plain, variety const& how) {
  std::vector<layout_choice> found;
  int const most_recomputed = how.kept_percent < 100 ? plain.chunk_count : 0;
  for (int q = 1; q <= how.most_sequence_chunks; q *= 2)
    for (int again = 0; again <= most_recomputed; ++again)
      found.push_back(vary(plain, again, q, how.kept_percent));
  return found;
}

// One chunk a device; two and four, looped and in waves; each in all variants. Those that the memory
// leaves no schedule for are not among them.
constexpr std::vector<layout_choice> layouts_for(model_share const& model, int memory_percent,
                                                 variety const& how = {}) {
  std::vector<layout_choice> found;
  for (auto const& [shape, count] : {std::pair{layout::linear, 1},
                                     {layout::v, 2},
                                     {layout::looped, 2},
                                     {layout::looped, 4},
                                     {layout::wave, 4}})
    for (layout_choice& c : variants_of(choose_layout(model, shape, count, memory_percent), how)) {
      // Where memory counts in parts of chunk activations, what is left of a whole one counts, too.
      c.problem.limit.budget = {memory_percent * model.p.value * count * c.memory_unit / 100};
      if (check(c.problem).ok()) found.push_back(static_cast<layout_choice&&>(c));
    }
  return found;
}

}  // namespace ashlar

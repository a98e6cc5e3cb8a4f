// The same model cut, laid out and recomputed in several ways, each to be searched: which of them suits
// a memory limit.
#pragma once

#include <ashlar/search.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

enum class layout : unsigned char { linear, v, looped, wave };

// A model of which each of p devices holds a p-th, in one or more chunks.
struct model_share {
  devices p;
  micro_batches m;
  stage_cost share;   // ticks of a p-th of the model, not of a chunk
  tick transfer = 0;  // between devices
  // Percent of its activation that a chunk keeps which recomputes; 100: none does.
  int kept_percent = 100;
  // Sequences may be cut into as many chunks, in powers of two.
  int most_sequence_chunks = 1;
};

// A way to lay it out. Ticks of its problem are `unit` times as short as those of the model, so that
// passes of a chunk take whole ones.
struct layout_choice {
  layout shape = layout::linear;
  int chunk_count = 1;        // on a device
  int recomputed_chunks = 0;  // the first of each device: those that would be held for longest
  int sequence_chunks = 1;
  tick unit = 1;
  search_problem problem;
};

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
  }
  return linear(p);
}

// The stages that are among the first `count` chunks of their devices, on the first route.
constexpr std::vector<int> first_chunks(placement const& where, int count) {
  std::vector<int> found, seen(static_cast<std::size_t>(where.device_count()), 0);
  for (int stage = 0; stage < where.stage_count(); ++stage)
    if (seen[static_cast<std::size_t>(where.device_of(0, stage))]++ < count) found.push_back(stage);
  return found;
}

// `memory_percent`: of what 1F1B holds at most, p micro-batches of a p-th of the model. Memory counts in
// chunk activations, or in percent of one where some recompute.
constexpr layout_choice choose_layout(model_share const& model, layout shape, int chunk_count,
                                      int memory_percent, int recomputed_chunks = 0,
                                      int sequence_chunks = 1) {
  tick const part = tick{chunk_count} * sequence_chunks;
  layout_choice c{.shape = shape,
                  .chunk_count = chunk_count,
                  .recomputed_chunks = recomputed_chunks,
                  .sequence_chunks = sequence_chunks,
                  .unit = part,
                  .problem = {.where = lay_out(shape, model.p, chunk_count),
                              .m = model.m,
                              .cost = costs(model.share, model.transfer * part),
                              .limit = memory_percent * model.p.value * part / 100,
                              .sequence_chunks = sequence_chunks}};
  if (recomputed_chunks == 0) return c;
  memory_limit const in_percent({memory_percent * model.p.value * part}, {100}, {100});
  c.problem.limit = keeping(in_percent, c.problem.where.stage_count(),
                            first_chunks(c.problem.where, recomputed_chunks), model.kept_percent);
  return c;
}

// Every number of chunks that may recompute, every number of chunks that sequences may be cut into.
constexpr std::vector<layout_choice> variants_of(model_share const& model, layout shape, int chunk_count,
                                                 int memory_percent) {
  std::vector<layout_choice> found;
  int const most_recomputed = model.kept_percent < 100 ? chunk_count : 0;
  for (int q = 1; q <= model.most_sequence_chunks; q *= 2)
    for (int again = 0; again <= most_recomputed; ++again)
      found.push_back(choose_layout(model, shape, chunk_count, memory_percent, again, q));
  return found;
}

// One chunk a device; two and four, looped and in waves; each in all variants. Those that the memory
// leaves no schedule for are not among them.
constexpr std::vector<layout_choice> layouts_for(model_share const& model, int memory_percent) {
  std::vector<layout_choice> found;
  for (auto const& [shape, count] : {std::pair{layout::linear, 1},
                                     {layout::v, 2},
                                     {layout::looped, 2},
                                     {layout::looped, 4},
                                     {layout::wave, 4}})
    for (layout_choice& c : variants_of(model, shape, count, memory_percent))
      if (check(c.problem).ok()) found.push_back(static_cast<layout_choice&&>(c));
  return found;
}

}  // namespace ashlar

// The same model cut and laid out in several ways, each searched: which placement suits a memory limit.
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
};

// A way to lay it out. Ticks of its problem are `unit` times as short as those of the model, so that
// passes of a chunk take whole ones.
struct layout_choice {
  layout shape = layout::linear;
  int chunk_count = 1;  // on a device
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

// `memory_percent`: of what 1F1B holds at most, p micro-batches of a p-th of the model.
constexpr layout_choice choose_layout(model_share const& model, layout shape, int chunk_count,
                                      int memory_percent) {
  tick const part = chunk_count;
  return {.shape = shape,
          .chunk_count = chunk_count,
          .unit = part,
          .problem = {.where = lay_out(shape, model.p, chunk_count),
                      .m = model.m,
                      .cost = costs(stage_cost{.forward = model.share.forward,
                                               .backward_input = model.share.backward_input,
                                               .backward_weight = model.share.backward_weight},
                                    model.transfer * part),
                      .limit = std::int64_t{memory_percent} * model.p.value * chunk_count / 100}};
}

// One chunk a device; two and four, looped and in waves. Those that the memory leaves no schedule for
// are not among them.
constexpr std::vector<layout_choice> layouts_for(model_share const& model, int memory_percent) {
  std::vector<layout_choice> found;
  for (auto const& [shape, count] : {std::pair{layout::linear, 1},
                                     {layout::v, 2},
                                     {layout::looped, 2},
                                     {layout::looped, 4},
                                     {layout::wave, 4}})
    if (layout_choice c = choose_layout(model, shape, count, memory_percent); check(c.problem).ok())
      found.push_back(static_cast<layout_choice&&>(c));
  return found;
}

}  // namespace ashlar

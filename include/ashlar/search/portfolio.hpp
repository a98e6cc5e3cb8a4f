// Several ways to cut, lay out and recompute one model. Each is searched, to find which suits a memory
// limit.
#pragma once

#include <ashlar/core/ids.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/search/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// How layers were dealt to stages (plan/layered_layouts.hpp); `none`: stages are given as they are;
// `other`: one of all ways.
enum class layer_division : unsigned char { none, even, balanced, by_bound, other };

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

  placement_kind shape = placement_kind::linear;
  int chunk_count = 1;        // on a device
  int recomputed_chunks = 0;  // the first of each device: those that would be held for longest; or
                              // other_stages, which recomputed_stages(problem) names
  int sequence_chunks = 1;
  tick unit = 1;
  std::int64_t memory_unit = 1;
  search_problem problem;
  std::vector<int> layers = {};  // of each stage, if they were dealt
  layer_division division = layer_division::none;
  std::vector<int> micro_batches =
      {};  // which of those given stands in each place, if not all in theirs
};

// Other freedoms of stages.
struct variety {
  // Percent of its activation that a stage keeps if it recomputes, one share for all or one each; 100:
  // none recomputes, unless named below.
  std::vector<int> kept_percent = {100};
  int most_sequence_chunks = 1;                   // that sequences are cut into; powers of two
  std::vector<std::vector<int>> recomputed = {};  // sets of stages to try, ascending; none: sets_for()
  causal_share causal = {};                       // for which later chunks of a sequence take longer
  // The costs of the chunks of a sequence, if known: then they are cut so or not at all. In ticks of the
  // layout, with messages of its length.
  literal_optional<costs> by_sequence_chunk = std::nullopt;

  // The share of this stage.
  int kept_percent_of(int stage) const {
    return kept_percent[kept_percent.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }
};

// Checks that there is one share for all stages or one each, percentages all; micro-batches and chunks
// of their sequences are at least 1 and at most most_passes together.
diagnosis check(variety const& how, search_problem const& problem, int sequence_chunks);

// Takes `memory_percent` of what 1F1B holds at most, p micro-batches of a p-th of the model. In chunk
// activations. Throws violation: rule::counts_are_positive for less than a chunk, rule::sizes_fit for a
// negative share, and as the placement does.
layout_choice choose_layout(model_share const& model, placement_kind shape, int chunk_count,
                            int memory_percent);

// The stages that are among the first `count` chunks of their devices, on the first route.
std::vector<int> first_chunks(placement const& where, int count);

// Cuts the sequences of a layout into chunks, which take equal parts of the memory of the whole, and of
// its time where nothing else is said, and recomputes some stages, within the same memory. A message
// takes as long as that of a whole sequence. Throws violation: check(how, problem, chunks),
// rule::every_pass_is_known for a stage out of range.
layout_choice vary(layout_choice c, std::vector<int> const& recomputed, int sequence_chunks,
                   variety const& how);

// The fewest first chunks of each device that leave room, if recomputed, for what it holds at the pace
// of 1F1B, all of them where none do. A stage then holds a micro-batch for each device from it to the
// end of the chain; with sequences in q chunks, q - 1 chunks more. Devices of which some have more to
// hold or less room then recompute different numbers of chunks.
std::vector<int> chunks_without_room(layout_choice const& plain, int sequence_chunks,
                                     variety const& how);

// The stages that may recompute: none; the first chunk of each device, the first two, and so on; and
// those without room, if that is another set. Or the sets asked for.
std::vector<std::vector<int>> sets_for(layout_choice const& plain, int sequence_chunks,
                                       variety const& how);

// Every set of stages that may recompute, every number of chunks that sequences may be cut into; the
// layout as it is comes first, unless the sets asked for begin with another. Throws violation:
// rule::every_pass_is_known for a stage out of range, check(how, problem, most_sequence_chunks).
std::vector<layout_choice> variants_of(layout_choice const& plain, variety const& how);

// One chunk a device, and two and four, looped and in waves.
std::vector<layout_choice> plain_layouts(model_share const& model, int memory_percent);

// All variants of each of them, without those that the memory leaves no schedule for.
std::vector<layout_choice> layouts_for(model_share const& model, int memory_percent,
                                       variety const& how = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/portfolio.ipp>
#endif

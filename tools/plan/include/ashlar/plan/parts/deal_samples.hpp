// Packs sequences of different lengths into micro-batches that take equal time.
#pragma once

#include <ashlar/core/ids.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// A stage's cost for a sequence of any length: attention grows with the square of the length, everything
// else with the length. Sequences of a micro-batch are packed one after the other and attend to
// themselves alone, so their costs add up.
struct sequence_cost {
  int tokens = 1;               // length of the sequence that `whole` and `attention` describe
  stage_cost whole = {};        // in ticks
  causal_share attention = {};  // of its forward and of its input pass, in percent

  // The cost of all sequences of a micro-batch, each pass rounded up to whole ticks once. Weight passes
  // have no attention; a recompute is a forward. Throws violation: rule::counts_are_positive for no
  // tokens, and with its index for a length below 1; rule::sizes_fit for a share that is not a
  // percentage; rule::no_duration_is_negative.
  stage_cost of(std::vector<int> const& lengths) const;
};

// The samples of each micro-batch.
struct dealt_samples {
  std::vector<std::vector<int>> micro_batches = {};  // indices of samples, ascending
  double longest = 0;  // ticks of all passes of the micro-batch that takes longest
  double least = 0;    // lower bound on `longest` for this many micro-batches, without the limit

  // Costs of the micro-batches in this order, equal for all stages.
  pass_costs costs_of(std::vector<int> const& tokens, sequence_cost const& cost) const;
};

// Deals samples, given by their numbers of tokens, to exactly m micro-batches of at most `most_tokens`
// each, so that the longest one is short: the longest samples first, each to the micro-batch with the
// least load (Graham 1969, at most 4/3 of the best without the limit); then samples of the longest
// micro-batch move, or swap with others, as long as that shortens it by a millionth. If the limit leaves
// no room for that order, each sample goes by its tokens to the first micro-batch with room. Jiang et
// al. (DynaPipe, EuroSys 2024) cut the samples, sorted by length, into consecutive micro-batches
// instead, which keeps padding low for sequences that are not packed.
//
// The bound is the mean, the longest sample, or two samples that must meet. O(n log n), and O((m + k)
// log n) for each exchange, if the longest micro-batch has k samples; exchanges end after 20 million
// that were considered. Throws violation: rule::counts_are_positive for no samples, fewer samples than
// micro-batches, or a length below 1; rule::sizes_fit for a share that is not a percentage;
// rule::no_duration_is_negative; rule::memory_is_within_budget with the index of a sample that exceeds
// the limit, or if it finds no deal within it.
dealt_samples deal_samples(std::vector<int> const& tokens, sequence_cost const& cost, micro_batches m,
                           std::int64_t most_tokens = max_tick);

}  // namespace ashlar

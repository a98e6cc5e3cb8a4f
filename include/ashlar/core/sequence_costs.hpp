// How the costs of the chunks of a sequence follow from those of the whole, and the other way round.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

#include <vector>

namespace ashlar {

// The share of passes over a whole sequence that is causal attention, in percent: of a forward (and
// recompute), and of an input pass. A chunk attends to itself and to all before it, so this part grows
// by the same amount from each chunk to the next. Each chunk takes an equal share of everything else.
// Attention has no weights, so weight passes have no such part.
struct causal_share {
  int forward = 0;
  int backward_input = 0;

  friend constexpr bool operator==(causal_share const&, causal_share const&) = default;
};

// Costs in finer ticks: `unit` of them are one tick of the costs that they were made from.
struct finer_costs {
  costs cost;
  tick unit = 1;
};

// Makes costs of the q chunks of a sequence from those of the mean chunk. The result has whole numbers,
// in the longest ticks that allow that: chunk i takes (100 - a) q + a (2 i + 1) of 100 q parts. A
// message takes the same time for each chunk. Throws violation: rule::counts_are_positive for q < 1,
// rule::parameter_is_at_most for more than most_passes,
// rule::sizes_fit for a share that is not a percentage from 0 to 100, rule::no_duration_is_negative,
// rule::tables_agree for costs that differ by sequence chunk already, or by micro-batch where chunks
// differ.
constexpr finer_costs with_causal_chunks(costs mean, int q, causal_share share) {
  if (q < 1) refuse({.broken = rule::counts_are_positive, .number = q});
  must_be(at_most(parameter::sequence_chunk_count, q, most_passes));
  if (mean.passes.sequence_chunks() != 1)
    refuse(wrong_size(table::sequence_chunk_costs, mean.passes.sequence_chunks(), 1));
  for (int const percent : {share.forward, share.backward_input})
    if (percent < 0 || percent > 100) refuse({.broken = rule::sizes_fit, .number = percent});
  auto const parts = [q](tick percent, tick chunk) {
    return (100 - percent) * q + percent * (2 * chunk + 1);
  };
  tick const all = parts(0, 0);
  tick common = all;
  for (int const percent : {share.forward, share.backward_input})
    for (int chunk = 0; chunk < q; ++chunk)
      common = greatest_common_divisor(common, parts(percent, chunk));
  if (common == all) return {static_cast<costs&&>(mean)};
  if (int const m = mean.passes.micro_batches(); m != 0)
    refuse(wrong_size(table::sequence_chunk_costs, m, 1));
  auto const longer = [](tick time, tick factor) {
    if (time < 0) refuse({.broken = rule::no_duration_is_negative, .number = time});
    return saturating_product(time, factor);
  };
  finer_costs made{static_cast<costs&&>(mean), all / common};
  pair_costs const overlapped = made.cost.passes.overlapped;
  std::vector<stage_cost> each;
  made.cost.passes.for_each([&](int, int, stage_cost const& c) {
    for (int chunk = 0; chunk < q; ++chunk) {
      tick const forward = parts(share.forward, chunk) / common,
                 input = parts(share.backward_input, chunk) / common;
      stage_cost own{.forward = longer(c.forward, forward),
                     .backward_input = longer(c.backward_input, input),
                     .backward_weight = longer(c.backward_weight, made.unit)};
      if (c.recompute != stage_cost::same_as_forward) own.recompute = longer(c.recompute, forward);
      each.push_back(own);
    }
  });
  made.cost.passes =
      pass_costs::by_stage_and_sequence_chunk(static_cast<std::vector<stage_cost>&&>(each), q);
  stretch_transfers(made.cost.on, made.unit);
  made.cost.passes.overlapped = overlapped;
  made.cost.passes.overlapped.change_each([&](tick t) { return longer(t, made.unit); });
  return made;
}

// The costs of passes over whole sequences: each is the sum over its chunks.
constexpr costs of_whole_sequences(costs c) {
  int const q = c.passes.sequence_chunks();
  if (q == 1) return c;
  std::vector<stage_cost> whole;
  c.passes.for_each([&](int, int chunk, stage_cost const& one) {
    if (chunk == 0) whole.push_back(stage_cost::nothing());
    whole.back().add(one);
  });
  pair_costs const overlapped = c.passes.overlapped;
  c.passes = static_cast<std::vector<stage_cost>&&>(whole);
  c.passes.overlapped = overlapped;
  return c;
}

}  // namespace ashlar

// A batch that kinds of devices share by speed: each kind has pipelines and a layout of its own.
#pragma once

#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/ranked_layout.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

// A batch shared between kinds.
struct shared_batch {
  std::vector<ranked_layout> shares;  // one for each kind, with its sequences; empty: there is none
  double sum = 0;                     // seconds of the gradients' sum over the kinds, after all passes

  // Seconds of a step: the longest share, plus the sum.
  double seconds() const;
};

// Seconds of the sum of all gradients over the kinds: a ring in which every device of a kind sends its
// share of 4 bytes a parameter twice, over the network between kinds or the kind's own if that is
// slower.
double seconds_between_kinds(question const& q, constants const& c);

// Chooses the number of sequences of each kind, and for each the best layout of its devices alone.
// Begins with shares by speed, and moves halves, quarters and so on down to a 64th of the batch from
// kind to kind while the step becomes shorter; so it is a local optimum of these moves. No shares for
// one kind, for fewer sequences than kinds, where a kind cannot hold the model, and if the watch ends
// it. Some 12 calls of best_layouts() for two kinds, 60 for four. Throws as best_layouts().
shared_batch share_batch(question const& q, open_sizes const& open, constants const& c,
                         layouts_watch watch);

}  // namespace ashlar::cost

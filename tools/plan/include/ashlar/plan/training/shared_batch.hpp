// A step on several kinds of devices with pipelines of one kind each: kinds share the batch by speed,
// and exchange only gradients.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/training/planner.hpp>

#include <vector>

namespace ashlar {

// The share of a step that the devices of one kind do.
struct kind_share {
  int kind = 0;
  int batch = 0;      // sequences
  planned_step step;  // the best plan of these devices alone for this batch
};

// A batch shared between kinds.
struct shared_batch {
  std::vector<kind_share> shares;  // one for each kind; empty: some kind cannot hold the model
  double sum = 0;                  // seconds of the gradients' sum over the kinds, after all passes

  // Seconds of a step: the longest share, plus the sum.
  double seconds() const {
    double longest = 0;
    for (kind_share const& each : shares) longest = max_of(longest, each.step.seconds);
    return longest + sum;
  }
};

// Seconds of the sum of all gradients over the kinds: a ring in which every device of a kind sends its
// share, over the network between kinds or the kind's own if that is slower.
double seconds_between_kinds(plan_question const& q);

// Chooses the number of sequences of each kind. Begins with shares by speed, and moves halves, quarters
// and so on down to a 64th of the batch from kind to kind while the step becomes shorter; so it is a
// local optimum of these moves. It minimizes time, regardless of the question's objective, and uses
// every kind whole. No shares for one kind, for measured layers, and for fewer sequences than kinds.
// Some 12 answers to a question of one kind for two kinds, 60 for four. Throws as answer().
shared_batch share_batch(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                         plan_progress progress);

}  // namespace ashlar

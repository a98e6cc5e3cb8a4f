// A step on several kinds of devices whose pipelines are each of one kind: the batch is shared out by
// speed, and only gradients go from kind to kind.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/training/planner.hpp>

#include <vector>

namespace ashlar {

// What the devices of one kind do of a step.
struct kind_share {
  int kind = 0;
  int batch = 0;      // sequences
  planned_step step;  // the best plan of these devices alone for so many
};

// A batch that is shared out.
struct shared_batch {
  std::vector<kind_share> shares;  // one for each kind; none: some kind cannot have the model
  double sum = 0;                  // seconds of the gradients' sum over the kinds, beside no pass

  // Of a step: the longest share, and the sum.
  double seconds() const {
    double longest = 0;
    for (kind_share const& each : shares) longest = max_of(longest, each.step.seconds);
    return longest + sum;
  }
};

// Seconds of the sum of all gradients over the kinds: a ring of them, in which every device of a kind
// sends its share, over the network between kinds or the kind's own if that is slower.
double seconds_between_kinds(plan_question const& q);

// How many sequences each kind takes. Begins with shares by speed, and moves halves, quarters and so on
// down to a 64th of the batch from kind to kind while the step becomes shorter; so it is the best that
// these moves lead to, not of all. Time is what is made small, whatever the question's objective, and
// every kind is used whole. No shares for one kind, for measured layers, and for fewer sequences than
// kinds. Some 12 answers to a question of one kind for two kinds, 60 for four. Throws as answer().
shared_batch share_batch(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                         plan_progress progress);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/shared_batch.ipp>
#endif

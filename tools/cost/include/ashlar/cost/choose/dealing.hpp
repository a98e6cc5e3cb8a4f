// The best division of a model's layers into pipeline stages.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

struct dealing {
  std::vector<stage> stages;  // none: found no division that fits
  double seconds = 0;         // of a step; none: infinite
  double bound = 0;           // no division that fits takes less; 0: none is known
};

// Returns the division with the least step_of() among those that fit on every device. Every stage has a
// part of the chain; predictions are among each device's last stages, as in Megatron-Core. Without
// virtual stages the answer is exact: `bound` is `seconds`. With them it is the best that moves of one
// part at a time find by the closed form, from even divisions and from the question's own stages, so it
// is no slower than these if they fit; `bound` limits how far it is from the best. Under a schedule that
// is executed, moves are weighed by executing it, some hundreds of times, and begin at the division by
// the closed form, too. Requires no more stages than parts. With N parts and S stages O(S N^2) for each
// of a few thresholds, and as much for each move. Throws unpredictable.
dealing deal_layers(question const& q, constants const& c);

// Parts `first` to `end` of the chain, as a stage.
struct dealt_piece {
  int first = 0, end = 0;
  double pace = 0, through = 0;   // seconds
  double resident = 0, kept = 0;  // bytes: always, and for each micro-batch in flight
};

// Makes up divisions without virtual stages, on devices of one kind. A step takes the longest
// `pace` of its stages and the sum of all that goes `through`.
struct dealt_pieces {
  int parts = 0;
  std::vector<dealt_piece> all;  // every piece, one after the other by `first`
  std::vector<int> in_flight;    // micro-batches, by stage
  double room = 0;               // bytes of a device
  std::vector<int> ends;         // of these stages
};

// The pieces of the question's model, and where its own stages end. Requires a closed form, stages, no
// virtual stages and one kind of devices. Throws unpredictable.
dealt_pieces pieces_of(question const& q, constants const& c);

}  // namespace ashlar::cost

// The part of a model that a virtual stage has.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar::cost {

// Layers from `first` on.
struct stage {
  int first = 0, count = 0;
  bool has_embedding = false;
  bool has_head = false;
  int predictions = 0;
  int losses = 0;   // that a head here takes; 0: all of the model
  int streams = 1;  // hidden states that come in: the model's, and one of each token predicted so far

  // Hidden states that go on. The last stage, from which none do, counts those that come in.
  int streams_after() const {
    int const left = has_head && losses == 0 ? 0 : streams + predictions - losses;
    return left > 0 ? left : streams;
  }

  friend constexpr bool operator==(stage const&, stage const&) = default;
};

}  // namespace ashlar::cost

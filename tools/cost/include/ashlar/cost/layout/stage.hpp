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

  friend constexpr bool operator==(stage const&, stage const&) = default;
};

}  // namespace ashlar::cost

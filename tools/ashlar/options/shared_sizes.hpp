// Sizes that the command line gives are those of a p-th of the model and of whole micro-batches, as its
// costs are.
#pragma once

#include <ashlar/model/memory_model.hpp>

namespace tool {

// How a schedule divides the model and its micro-batches.
struct model_division {
  int pieces = 1;  // sizes are those of one of them
  int stages = 1;
  int parts = 1;  // of a micro-batch, which have passes of their own
};

// Gives each stage, and each part of a micro-batch, its part of the sizes, rounded up. Messages stay,
// and so do stashes if `has_stashes`: these are of each stage already.
void divide_sizes(ashlar::memory_model& memory, model_division const& by, bool has_stashes = false);

}  // namespace tool

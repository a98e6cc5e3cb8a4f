#include "options/shared_sizes.hpp"

#include <ashlar/simulate/options.hpp>

#include <numeric>

namespace tool {

namespace {

ashlar::byte_count part_of(ashlar::byte_count size, int pieces, int stages, int parts) {
  int const common = std::gcd(pieces, stages);
  ashlar::byte_count const of_stage =
      ashlar::share_of(ashlar::saturating_product(size, pieces / common), stages / common);
  return ashlar::share_of(of_stage, parts);
}

}  // namespace

void divide_sizes(ashlar::memory_model& memory, model_division const& by, bool has_stashes) {
  using ashlar::stage_memory;
  for (stage_memory& each : memory.stages) {
    for (ashlar::byte_count* const size : {&each.weights, &each.weight_gradient, &each.optimizer_state,
                                           &each.sequence_state, &each.sequence_gradient})
      *size = part_of(*size, by.pieces, by.stages, 1);
    if (has_stashes) continue;
    for (ashlar::byte_count* const size :
         {&each.stash, &each.stash_left, &each.weight_stash, &each.checkpoint})
      if (*size != stage_memory::all) *size = part_of(*size, by.pieces, by.stages, by.parts);
  }
}

}  // namespace tool

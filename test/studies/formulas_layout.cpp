#include "studies/formulas/layout.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace formulas;

namespace {

transformer small_model() {
  return {.layers = 3,
          .hidden = 8,
          .feed_forward = 16,
          .heads = 2,
          .vocabulary = 10,
          .sequence = 4,
          .gated = true};
}

TEST_CASE("layouts: layout memory") {
  // It has two layers of 640 and an embedding of 80, whole.
  training_layout l{.pipeline = 2, .data = 3};
  stage_memory m = layout_memory(small_model(), l).of(0);
  CHECK((m.weights == 2 * 1360 && m.weight_gradient == 2 * 1360 && m.optimizer_state == 4 * 1360));
  CHECK(m.stash == 2 * 4 * (8 * 8 + 8 * 8 + 8 * 16));
  // It keeps scores, and the values between a norm and its scale.
  l.flash_attention = l.fused_norm = false;
  CHECK(layout_memory(small_model(), l).of(0).stash == 2 * 4 * (24 * 8 + 8 * 8 + 8 * 16 + 5 * 2 * 4));
  // It has all layers with both embeddings, and the logits.
  l = {.pipeline = 1};
  m = layout_memory(small_model(), l).of(0);
  CHECK(m.weights == 2 * (3 * 640 + 160) + 6 * 10 * 4);
  // Only the inputs of layers stay; one layer is whole at a time.
  l = {.pipeline = 3, .again = recomputation::full};
  m = layout_memory(small_model(), l).of(0);
  CHECK((m.stash == 4 * 8 * 2 && m.weights == 2 * 720 + 4 * (8 * 8 + 8 * 8 + 8 * 16)));
}

TEST_CASE("layouts: layout order") {
  training_layout const best{.tensor = 2, .pipeline = 2};
  auto const why = [&](training_layout const& other) { return comes_before(best, other, false); };
  CHECK(why(best) == layout_reason::none);
  CHECK(why({.tensor = 1, .pipeline = 1, .again = recomputation::full})
        == layout_reason::no_recomputation);
  CHECK(why({.micro_batch = 2}) == layout_reason::smaller_micro_batch);
  CHECK(why({.fused_norm = false}) == layout_reason::fused_kernels);
  CHECK(why({.tensor = 2, .pipeline = 4}) == layout_reason::fewer_devices_of_model);
  CHECK(why({.tensor = 4, .pipeline = 1}) == layout_reason::less_tensor);
  CHECK(why({.tensor = 1, .pipeline = 4}) == layout_reason::none);
  CHECK(why({.sequence_parallel = true}) == layout_reason::sequence_parallel);
  CHECK(comes_before(best, {.sequence_parallel = true}, true) == layout_reason::none);
  CHECK(!is_long_or_large(small_model()));
}

}  // namespace

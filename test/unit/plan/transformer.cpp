#include <ashlar/plan/transformer.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_parameters() {
  transformer t{
      .layers = 2, .hidden = 8, .feed_forward = 32, .heads = 4, .vocabulary = 10, .sequence = 16};
  HOLDS(t.layer_parameters() == 12 * 64);
  HOLDS(t.parameters() == 2 * 12 * 64 + 2 * 80);
  t.tied = true;
  HOLDS(t.parameters() == 2 * 12 * 64 + 80);
  t.gated = true;
  HOLDS(t.layer_parameters() == 4 * 64 + 3 * 256);
  t.key_value_heads = 1;  // keys and values a quarter as wide
  HOLDS(t.attention_parameters() == 2.5 * 64);
  return true;
}
static_assert(test_parameters());

constexpr bool test_flops() {
  transformer const t{.layers = 2, .hidden = 8, .feed_forward = 32, .heads = 4, .sequence = 16};
  HOLDS(model_flops(t, 3) == 3 * 16 * (6 * 1536.0 + 12 * 2 * 8 * 16));
  HOLDS(model_utilisation(800, 2, 4, 200) == 0.5);
  return true;
}
static_assert(test_flops());

}  // namespace

TEST_CASE("transformers: parameters and operations") {
  CHECK(test_parameters());
  CHECK(test_flops());
}

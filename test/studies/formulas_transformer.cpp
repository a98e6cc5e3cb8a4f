#include "studies/formulas/transformer.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace formulas;

namespace {

TEST_CASE("transformers: parameters") {
  transformer t{
      .layers = 2, .hidden = 8, .feed_forward = 32, .heads = 4, .vocabulary = 10, .sequence = 16};
  CHECK(t.layer_parameters() == 12 * 64);
  CHECK(t.parameters() == 2 * 12 * 64 + 2 * 80);
  t.tied = true;
  CHECK(t.parameters() == 2 * 12 * 64 + 80);
  t.gated = true;
  CHECK(t.layer_parameters() == 4 * 64 + 3 * 256);
  t.key_value_heads = 1;  // keys and values a quarter as wide
  CHECK(t.attention_parameters() == 2.5 * 64);
}

TEST_CASE("transformers: flops") {
  transformer const t{.layers = 2, .hidden = 8, .feed_forward = 32, .heads = 4, .sequence = 16};
  CHECK(model_flops(t, 3) == 3 * 16 * (6 * 1536.0 + 12 * 2 * 8 * 16));
  CHECK(model_utilisation(800, 2, 4, 200) == 0.5);
}

}  // namespace

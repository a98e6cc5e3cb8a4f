#include "studies/formulas/transformer_memory.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace formulas;

namespace {

// Equations 1, 2, 4 and 6 of the paper, in units of s b h.
TEST_CASE("transformer memory: the published formulas") {
  CHECK(parameter_bytes{}.all() == 18);
  split_layer l{.hidden = 16, .feed_forward = 64, .heads = 4, .sequence = 32};
  double const sbh = 2 * 32 * 16, scores = 5.0 * 4 * 32 / 16;
  CHECK(kept_bytes(l, 2) == sbh * (34 + scores));
  l.tensor = 2;
  CHECK(kept_bytes(l, 2) == sbh * (10 + 24.0 / 2 + scores / 2));
  CHECK(kept_bytes(l, 2, recomputation::attention) == sbh * (10 + 24.0 / 2));
  l.sequence_parallel = true;
  CHECK(kept_bytes(l, 2) == sbh / 2 * (34 + scores));
  CHECK(kept_bytes(l, 2, recomputation::attention) == sbh / 2 * 34);
  CHECK(kept_bytes(l, 2, recomputation::full) == sbh * 2);
}

}  // namespace

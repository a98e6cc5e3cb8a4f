#include <ashlar/core/pass.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_results() {
  HOLDS(result_of(pass_kind::forward) == result::activation);
  HOLDS(result_of(pass_kind::recompute) == result::recomputed);
  HOLDS(result_of(pass_kind::backward) == result::input_gradient);
  HOLDS(result_of(pass_kind::backward_input) == result::input_gradient);
  HOLDS(result_of(pass_kind::backward_weight) == result::weight_gradient);
  HOLDS(result_of(pass_kind::work) == result::none);
  HOLDS(static_cast<int>(result::none) == results);
  HOLDS(static_cast<int>(pass_kind::work) + 1 == pass_kinds);
  return true;
}
BOTH_TIMES("what a pass gives", test_results)

constexpr bool test_gradients() {
  for (int k = 0; k < pass_kinds; ++k) {
    auto const kind = static_cast<pass_kind>(k);
    HOLDS(gives_input_gradient(kind) == (result_of(kind) == result::input_gradient));
    HOLDS(gives_weight_gradient(kind)
          == (kind == pass_kind::backward || kind == pass_kind::backward_weight));
  }
  return true;
}
BOTH_TIMES("which passes give gradients", test_gradients)

constexpr bool test_equality() {
  HOLDS(pass{} == pass{pass_kind::forward, 0, 0});
  HOLDS(pass{pass_kind::forward, 1, 2} != pass{pass_kind::forward, 2, 1});
  HOLDS(pass{pass_kind::backward, 1, 2} != pass{pass_kind::backward_input, 1, 2});
  return true;
}
BOTH_TIMES("passes are equal by kind, stage and micro-batch", test_equality)

}  // namespace

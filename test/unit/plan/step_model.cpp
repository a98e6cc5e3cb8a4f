#include <ashlar/plan/step_model.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr transformer two_layers() {
  return {.layers = 2, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
}
constexpr device_machine plain_machine() {
  return {.flops = 1, .inside = 1, .between = 0.5, .memory = 1e6, .node_size = 4};
}

// A layer: 768 parameters, 4 tokens: 6144 operations and 512 for scores.
constexpr bool test_step_times() {
  training_layout l{.pipeline = 2};
  auto const times = [&](bool sharded = false, bool head = false) {
    return stage_times(two_layers(), l, sharded, {{1, 1}, head}, plain_machine(), {});
  };
  HOLDS(times()[0].forward == 6656 && times()[0].backward == 2 * 6656);
  HOLDS(times()[0].send == 2 * 8 * 4 && times()[1].send == 0 && times()[0].reduction == 0);
  HOLDS(times(false, true)[1].forward == 6656 + 2 * 4 * 128 && times(false, true)[0].forward == 6656);
  l.again = recomputation::full;
  HOLDS(times()[0].backward == 3 * 6656);
  l.again = recomputation::attention;
  HOLDS(times()[0].backward == 2 * 6656 + 512);
  // Half the work, and two sums of 64 bytes over two ranks. Eight devices: messages leave the node.
  l = {.tensor = 2, .pipeline = 2, .data = 2};
  HOLDS(times()[0].forward == 3328 + 2 * 64 && times()[0].backward == 2 * 3328 + 2 * 64);
  HOLDS(times()[0].send == 64 / 2 / 0.5);
  HOLDS(times()[0].reduction == 768 / 2 * 4 / 0.5);
  HOLDS(times(true)[0].reduction == 768 / 2 * 3 / 0.5);
  HOLDS(times(true, true)[1].reduction == (768 + 128) / 2 * 3 / 0.5);
  return true;
}
static_assert(test_step_times());

constexpr bool test_step_bytes() {
  training_layout l{.pipeline = 2, .data = 2};
  auto const bytes = [&](bool sharded, bool head) {
    return stage_bytes(two_layers(), l, sharded, {{1, 1}, head}, {});
  };
  stage_memory m = bytes(false, false).of(0);
  HOLDS(m.weights == 2 * 768 && m.weight_gradient == 4 * 768 && m.optimizer_state == 12 * 768);
  HOLDS(m.stash == 4 * (18 * 8 + 4 * 32 + 5 * 2 * 4));
  m = bytes(true, true).of(1);
  HOLDS(m.optimizer_state == 6 * 896 && m.weights == 2 * 896 + 6 * 16 * 4);
  l.again = recomputation::full;
  HOLDS(bytes(false, false).of(0).stash == 64
        && bytes(false, false).of(0).weights == 2 * 768 + 4 * (18 * 8 + 4 * 32 + 5 * 2 * 4));
  return true;
}
static_assert(test_step_bytes());

}  // namespace

TEST_CASE("step model: seconds and bytes of stages") {
  CHECK(test_step_times());
  CHECK(test_step_bytes());
}

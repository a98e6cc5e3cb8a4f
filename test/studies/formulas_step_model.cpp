#include "studies/formulas/step_model.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace formulas;

namespace {

constexpr sharding_level unshared = sharding_level::none;

transformer two_layers() {
  return {.layers = 2, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
}
device_machine plain_machine() {
  return {.flops = 1, .inside = 1, .between = 0.5, .memory = 1e6, .node_size = 4};
}

// A layer: 768 parameters, 4 tokens: 6144 operations and 512 for scores.
TEST_CASE("step model: step times") {
  training_layout l{.pipeline = 2};
  auto const times = [&](sharding_level level = unshared, bool head = false) {
    return stage_times(two_layers(), l, level, {{1, 1}, head}, plain_machine(), {});
  };
  CHECK((times()[0].passes.forward == 6656 && times()[0].passes.backward == 2 * 6656));
  CHECK((times()[0].attention.forward == 512 && times()[0].attention.backward == 2 * 512));
  CHECK((times()[0].send == 2 * 8 * 4 && times()[1].send == 0 && times()[0].reduction == 0));
  CHECK((times(unshared, true)[1].passes.forward == 6656 + 2 * 4 * 128
         && times(unshared, true)[0].passes.forward == 6656));
  l.again = recomputation::full;
  CHECK((times()[0].passes.backward == 3 * 6656 && times()[0].attention.backward == 3 * 512));
  l.again = recomputation::attention;
  CHECK((times()[0].passes.backward == 2 * 6656 + 512 && times()[0].attention.backward == 3 * 512));
  // Half the work, and two sums of 64 bytes over two ranks. Eight devices: messages leave the node.
  l = {.tensor = 2, .pipeline = 2, .data = 2};
  CHECK((times()[0].passes.forward == 3328 + 2 * 64 && times()[0].passes.backward == 2 * 3328 + 2 * 64));
  CHECK(times()[0].send == 64 / 2 / 0.5);
  CHECK(times()[0].reduction == 768 / 2 * 4 / 0.5);
  CHECK(times(sharding_level::optimizer)[0].reduction == 768 / 2 * 3 / 0.5);
  CHECK(times(sharding_level::optimizer, true)[1].reduction == (768 + 128) / 2 * 3 / 0.5);
  // Weights are gathered for each pass, gradients scattered after each backward: half of either moves.
  stage_seconds const all = times(sharding_level::full)[0];
  CHECK((all.gather == 768 / 2 * 1 / 0.5 && all.scatter == 768 / 2 * 2 / 0.5));
  CHECK(all.reduction == all.gather + all.scatter);  // there is just one layer
}

// Values of 32 bits are twice as many bytes wherever they are kept or moved.
TEST_CASE("step model: step precision") {
  training_layout const l{.tensor = 2, .pipeline = 2, .data = 2};
  transformer wide = two_layers();
  wide.value_bytes = 4;
  device_machine const m = plain_machine();
  stage_seconds const half = stage_times(two_layers(), l, unshared, {{1, 1}, true}, m, {})[0],
                      whole = stage_times(wide, l, unshared, {{1, 1}, true}, m, {})[0];
  CHECK((whole.send == 2 * half.send && whole.passes.forward == half.passes.forward + 2 * 64));
  CHECK(whole.reduction == half.reduction);  // gradients have 32 bits in both
  stage_memory const few = stage_bytes(two_layers(), l, unshared, {{1, 1}, true}, {}).of(1),
                     many = stage_bytes(wide, l, unshared, {{1, 1}, true}, kept_widths{}.of_values(4))
                                .of(1);
  CHECK((many.stash == 2 * few.stash && many.weight_gradient == few.weight_gradient));
  CHECK(many.weights == few.weights + 2 * 448 + 2 * 16 * 4 / 2);  // with the logits
  CHECK((many.optimizer_state == 8 * 448 && few.optimizer_state == 12 * 448));
}

TEST_CASE("step model: step bytes") {
  training_layout l{.pipeline = 2, .data = 2};
  auto const bytes = [&](sharding_level level, bool head) {
    return stage_bytes(two_layers(), l, level, {{1, 1}, head}, {});
  };
  stage_memory m = bytes(unshared, false).of(0);
  CHECK((m.weights == 2 * 768 && m.weight_gradient == 4 * 768 && m.optimizer_state == 12 * 768));
  CHECK(m.stash == 4 * (18 * 8 + 4 * 32 + 5 * 2 * 4));
  m = bytes(sharding_level::optimizer, true).of(1);
  CHECK((m.optimizer_state == 6 * 896 && m.weights == 2 * 896 + 6 * 16 * 4));
  l.again = recomputation::full;
  CHECK((bytes(unshared, false).of(0).stash == 64
         && bytes(unshared, false).of(0).weights == 2 * 768 + 4 * (18 * 8 + 4 * 32 + 5 * 2 * 4)));
}

}  // namespace

#include <ashlar/plan/training/listed_layers.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

listed_model three_layers() {
  return {.tensor = 2, .layers = {{{1, 2}, 10, 100, 8}, {{2, 3}, 20, 200, 16}, {{3, 4}, 30, 300, 24}}};
}
device_machine listed_machine() {
  return {.flops = 1, .inside = 4, .between = 2, .memory = 1e6, .node_size = 4};
}

TEST_CASE("listed layers: seconds and bytes of stages") {
  training_layout l{.micro_batch = 2, .tensor = 2, .pipeline = 2, .data = 2};
  auto const times = stage_times(three_layers(), l, sharding_level::none, {2, 1}, listed_machine());
  CHECK((times[0].passes.forward == 2 * 3 && times[0].passes.backward == 2 * 5));
  CHECK((times[1].passes.forward == 2 * 3 && times[1].passes.backward == 2 * 4));
  CHECK((times[0].send == 2 * 16 / 2.0 && times[1].send == 0));
  CHECK(times[0].reduction == 30 * 8.0 / 2 / 2);
  CHECK(stage_times(three_layers(), l, sharding_level::optimizer, {2, 1}, listed_machine())[1].reduction
        == 30 * 6.0 / 2 / 2);
  memory_model m = stage_bytes(three_layers(), l, sharding_level::optimizer, {2, 1});
  CHECK((m.of(0).stash == 2 * 300 && m.of(0).weights == 2 * 30 && m.of(0).weight_gradient == 4 * 30));
  CHECK((m.of(0).optimizer_state == 6 * 30 && m.of(1).stash == 2 * 300));
  // Only inputs stay, and the largest layer is whole at a time.
  l.again = recomputation::full;
  CHECK(stage_times(three_layers(), l, sharding_level::none, {2, 1}, listed_machine())[0].passes.backward
        == 2 * (5 + 3));
  m = stage_bytes(three_layers(), l, sharding_level::none, {2, 1});
  CHECK((m.of(0).stash == 2 * 24 && m.of(0).weights == 2 * 30 + 2 * 200));
  // Half of forwards is causal attention, and a quarter of input passes; recomputation counts, too.
  listed_model causal = three_layers();
  causal.causal = {.forward = 50, .backward_input = 25};
  auto const again = stage_times(causal, l, sharding_level::none, {2, 1}, listed_machine());
  CHECK((again[0].attention.forward == 3 && again[0].attention.backward == 2 * 5 / 8.0 + 3));
  l.again = recomputation::none;
  CHECK(stage_times(causal, l, sharding_level::none, {2, 1}, listed_machine())[1].attention.backward
        == 1);
  CHECK((three_layers().parameters() == 120 && three_layers().work() == 30));
}

}  // namespace

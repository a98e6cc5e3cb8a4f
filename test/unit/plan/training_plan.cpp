#include <ashlar/plan/training_plan.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <vector>

using namespace ashlar;

namespace {

// Four layers, a second is 1e6 operations.
constexpr plan_question asked_question() {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
  q.kinds[0].machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 4};
  q.kinds[0].count = 2;
  q.batch = 4;
  return q;
}

constexpr training_plan plan_in(char const* name, int stages_of_device, int pieces,
                                std::vector<int> const& layers) {
  return {.layout = {.pipeline = 2},
          .micro_batches = 4,
          .entry = catalog::find(name),
          .chunks = stages_of_device,
          .sequence_chunks = pieces,
          .layers = layers};
}

constexpr bool is_close(double a, double b) { return a - b < 1e-9 * b && b - a < 1e-9 * b; }

constexpr bool test_plan_schedule() {
  training_plan const plain = plan_in("1f1b", 1, 1, {2, 2}),
                      turn = plan_in("v-half", 2, 1, {1, 1, 1, 1}),
                      loops = plan_in("depth-first", 2, 1, {1, 1, 1, 1}),
                      pieces = plan_in("seq1f1b", 1, 2, {2, 2});
  for (training_plan const& plan : {plain, turn, loops, pieces}) {
    schedule const s = passes_of(plan, 4);
    HOLDS(s.where == placement_of(plan));
    HOLDS(s.micro_batch_count() == 4 * plan.sequence_chunks);
  }
  HOLDS(is_v_shaped(*turn.entry) && !is_v_shaped(*plain.entry) && !is_v_shaped(*loops.entry));
  HOLDS(plain.device_count() == 2 && enough_micro_batches(plain) == 4);
  return true;
}
static_assert(test_plan_schedule());

constexpr bool test_plan_costs() {
  plan_question const q = asked_question();
  training_plan const plain = plan_in("1f1b", 1, 1, {2, 2}), pieces = plan_in("seq1f1b", 1, 2, {2, 2}),
                      uneven = plan_in("1f1b", 1, 1, {3, 1});
  // A piece takes its share of passes, messages and activations, not of weights.
  HOLDS(is_close(times_of(q, plain)[0].forward, 2 * times_of(q, pieces)[0].forward));
  HOLDS(is_close(times_of(q, plain)[0].send, 2 * times_of(q, pieces)[0].send));
  HOLDS(bytes_of(q, plain).of(0).stash == 2 * bytes_of(q, pieces).of(0).stash);
  HOLDS(bytes_of(q, plain).of(0).weights == bytes_of(q, pieces).of(0).weights);
  HOLDS(is_close(2 * times_of(q, uneven)[0].forward, 3 * times_of(q, plain)[0].forward));
  // Weights in shards are gathered for every piece, beside its passes.
  training_plan shared = pieces;
  shared.layout.data = 2;
  HOLDS(times_of(q, shared)[0].forward == times_of(q, pieces)[0].forward);
  shared.sharding = sharding_level::full;
  plan_question slow = q;
  slow.kinds[0].machine.inside = 10;
  HOLDS(times_of(slow, shared)[0].forward == 2 * 768 * 1 / 10.0 + (16 * 8) / 10.0);
  HOLDS(times_of(slow, shared)[0].backward == 3 * times_of(slow, shared)[0].forward);
  // The last device has the head as well; it begins after the first stage's forward.
  stage_seconds const first = times_of(q, plain)[0], last = times_of(q, plain)[1];
  HOLDS(last.forward > first.forward);
  HOLDS(is_close(busiest_seconds(q, plain), 4 * (last.forward + last.backward)));
  HOLDS(is_close(least_seconds(q, plain) + 1e-9 * 5 * 2, first.forward + busiest_seconds(q, plain)));
  HOLDS(least_seconds(q, plain) <= simulated_seconds(q, plain));
  return true;
}
static_assert(test_plan_costs());

constexpr bool test_plan_of_a_list() {
  plan_question q = asked_question();
  q.lists = {{.tensor = 1, .layers = std::vector<listed_layer>(4, {1, 2, 10, 100, 50})}};
  q.lists[0].layers[3].forward = 5;
  HOLDS(list_of(q, 1) != nullptr && list_of(q, 2) == nullptr);
  training_plan const plan = plan_in("1f1b", 1, 1, {3, 1});
  HOLDS(times_of(q, plan)[0].forward == 3 && times_of(q, plan)[1].forward == 5);
  HOLDS(bytes_of(q, plan).of(0).stash == 300);
  q.margin = 0.25;
  HOLDS(q.budget(q.kinds[0].machine) == 75000);
  return true;
}
static_assert(test_plan_of_a_list());

}  // namespace

TEST_CASE("training plans: what a plan's passes are, take and hold") {
  CHECK(test_plan_schedule());
  CHECK(test_plan_costs());
  CHECK(test_plan_of_a_list());
}

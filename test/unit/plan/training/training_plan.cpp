#include <ashlar/plan/training/training_plan.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/sequence_costs.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

// Four layers; a second is 1e6 operations.
plan_question asked_question() {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
  q.kinds[0].machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 4};
  q.kinds[0].count = 2;
  q.batch = 4;
  return q;
}

training_plan plan_in(char const* name, int stages_of_device, int pieces,
                      std::vector<int> const& layers) {
  return {.layout = {.pipeline = 2},
          .micro_batches = 4,
          .entry = catalog::find(name),
          .chunks = stages_of_device,
          .sequence_chunks = pieces,
          .layers = layers};
}

bool is_close(double a, double b) { return a - b < 1e-9 * b && b - a < 1e-9 * b; }

TEST_CASE("training plans: plan schedule") {
  training_plan const plain = plan_in("1f1b", 1, 1, {2, 2}),
                      turn = plan_in("v-half", 2, 1, {1, 1, 1, 1}),
                      loops = plan_in("depth-first", 2, 1, {1, 1, 1, 1}),
                      pieces = plan_in("seq1f1b", 1, 2, {2, 2});
  for (training_plan const& plan : {plain, turn, loops, pieces}) {
    schedule const s = passes_of(plan, 4);
    CHECK(s.where == placement_of(plan));
    CHECK(s.micro_batch_count() == 4 * plan.sequence_chunks);
  }
  CHECK((plain.device_count() == 2 && enough_micro_batches(plain) == 4));
}

TEST_CASE("training plans: plan costs") {
  plan_question const q = asked_question();
  training_plan const plain = plan_in("1f1b", 1, 1, {2, 2}), pieces = plan_in("seq1f1b", 1, 2, {2, 2}),
                      uneven = plan_in("1f1b", 1, 1, {3, 1});
  // A piece takes its share of messages and activations, not of weights.
  CHECK(is_close(times_of(q, plain)[0].send, 2 * times_of(q, pieces)[0].send));
  CHECK(bytes_of(q, plain).of(0).stash == 2 * bytes_of(q, pieces).of(0).stash);
  CHECK(bytes_of(q, plain).of(0).weights == bytes_of(q, pieces).of(0).weights);
  CHECK(is_close(2 * times_of(q, uneven)[0].passes.forward, 3 * times_of(q, plain)[0].passes.forward));
  // Weights in shards are gathered for every piece, beside its passes.
  training_plan shared = pieces;
  shared.layout.data = 2;
  CHECK(times_of(q, shared)[0].passes.forward == times_of(q, pieces)[0].passes.forward);
  shared.sharding = sharding_level::full;
  plan_question slow = q;
  slow.kinds[0].machine.inside = 10;
  CHECK(times_of(slow, shared)[0].passes.forward == 2 * 768 * 1 / 10.0 + (16 * 8) / 10.0);
  CHECK(times_of(slow, shared)[0].passes.backward == 3 * times_of(slow, shared)[0].passes.forward);
  // The last device has the head as well; it begins after the first stage's forward.
  stage_seconds const first = times_of(q, plain)[0], last = times_of(q, plain)[1];
  CHECK(last.passes.forward > first.passes.forward);
  CHECK(is_close(busiest_seconds(q, plain), 4 * last.passes.both()));
  CHECK(is_close(least_seconds(q, plain) + 1e-9 * 5 * 2,
                 first.passes.forward + busiest_seconds(q, plain)));
  CHECK(least_seconds(q, plain) <= simulated_seconds(q, plain));
}

// Two layers: 4 tokens x 2 x 768 parameters and 4 x 8 x 4 for scores, each. The first of two pieces does
// a quarter of the scores, and half of everything else.
TEST_CASE("training plans: attention of pieces") {
  plan_question const q = asked_question();
  training_plan plan = plan_in("seq1f1b", 1, 2, {2, 2});
  double const matrices = 2 * 6144e-6, scores = 2 * 512e-6, mean = matrices + scores;
  std::vector<stage_seconds> times = times_of(q, plan);
  CHECK(times.size() == 4);
  CHECK(is_close(times[0].passes.forward, matrices / 2 + scores / 4));
  CHECK(is_close(times[1].passes.forward, matrices / 2 + scores * 3 / 4));
  CHECK(is_close(times[0].passes.backward, 2 * times[0].passes.forward));
  CHECK(is_close(times[1].passes.backward, 2 * times[1].passes.forward));
  CHECK(is_close(times[0].attention.forward, scores / 4));
  CHECK(is_close(times[1].attention.backward, 2 * scores * 3 / 4));
  // Weight passes are alike: half of a mean backward.
  CHECK((is_close(times[0].weight, mean / 2) && is_close(times[1].weight, mean / 2)));
  // The head attends to nothing.
  CHECK(is_close(times[3].passes.forward - times[1].passes.forward,
                 times[2].passes.forward - times[0].passes.forward));
  stage_seconds const whole = times_of(q, plan_in("1f1b", 1, 1, {2, 2}))[0];
  CHECK(is_close(times[0].passes.forward + times[1].passes.forward, whole.passes.forward));
  CHECK(is_close(times[0].passes.backward + times[1].passes.backward, whole.passes.backward));
  CHECK(is_close(whole.weight, whole.passes.backward / 2));
  // The last device begins after the first piece's forward.
  CHECK(is_close(least_seconds(q, plan) + 1e-9 * 9 * 2,
                 times[0].passes.forward + busiest_seconds(q, plan)));
  CHECK(is_close(busiest_seconds(q, plan), busiest_seconds(q, plan_in("1f1b", 1, 1, {2, 2}))));
  CHECK(least_seconds(q, plan) <= simulated_seconds(q, plan));
  // Scores are run again like the rest.
  plan.layout.again = recomputation::full;
  CHECK(is_close(times_of(q, plan)[0].passes.backward, 3 * times[0].passes.forward));
  // In sequences so long that scores are more than half of a backward, weight passes have all the rest.
  plan_question longer = q;
  longer.model.sequence = 4096;
  plan.layout.again = recomputation::none;
  times = times_of(longer, plan);
  CHECK((is_close(times[0].weight, matrices * 1024) && is_close(times[1].weight, matrices * 1024)));
}

// Measured layers have the costs that with_causal_chunks() gives.
TEST_CASE("training plans: attention of a list") {
  plan_question q = asked_question();
  training_plan const plan = plan_in("seq1f1b", 1, 2, {3, 1});
  q.lists = {{.tensor = 1,
              .layers = std::vector<listed_layer>(4, {{2, 8}, 10, 100, 50}),
              .causal = {.forward = 50, .backward_input = 100}}};
  costs const made = costs_of(q, plan);
  finer_costs const known =
      with_causal_chunks(std::vector<stage_cost>{{3, 6, 6}, {1, 2, 2}}, 2, q.lists[0].causal);
  CHECK((made.passes.sequence_chunks() == 2 && made.passes.stages() == 2));
  made.passes.for_each([&](int stage, int chunk, stage_cost const& c) {
    stage_cost const& other = known.cost.passes.of(stage, chunk);
    CHECK(c.forward * known.unit == other.forward * 1'000'000'000);
    CHECK(c.backward_input * known.unit == other.backward_input * 1'000'000'000);
    CHECK(c.backward_weight * known.unit == other.backward_weight * 1'000'000'000);
  });
  q.lists[0].causal = {};
  CHECK((times_of(q, plan)[0].passes.forward == 3 && times_of(q, plan)[1].passes.forward == 3));
  CHECK(times_of(q, plan)[3].passes.backward == 4);
}

TEST_CASE("training plans: plan of a list") {
  plan_question q = asked_question();
  q.lists = {{.tensor = 1, .layers = std::vector<listed_layer>(4, {{1, 2}, 10, 100, 50})}};
  q.lists[0].layers[3].passes.forward = 5;
  CHECK((list_of(q, 1) != nullptr && list_of(q, 2) == nullptr));
  training_plan const plan = plan_in("1f1b", 1, 1, {3, 1});
  CHECK((times_of(q, plan)[0].passes.forward == 3 && times_of(q, plan)[1].passes.forward == 5));
  CHECK(bytes_of(q, plan).of(0).stash == 300);
  q.margin = 0.25;
  CHECK(q.budget(q.kinds[0].machine) == 75000);
}

}  // namespace

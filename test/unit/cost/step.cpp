#include <ashlar/cost/step/step.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/published.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

// Whether it is executed. Others have a closed form, and a small jump between the two.
bool is_executed(question const& q, constants const& c) {
  return has_uneven_rounds(q, passes_of(q, stages_of(q), c));
}

// Floating-point numbers are rounded; an executed order also rounds each pass to a tick.
double rounding_of(question const& q, constants const& c) {
  return is_executed(q, c) ? 1 + 1e-7 : 1 + 1e-9;
}

question with_machine(question q, double machine::*figure, double factor) {
  q.cluster.device().*figure *= factor;
  return q;
}

}  // namespace

TEST_CASE("step: its terms add up") {
  random_case::dice roll(1);
  constants const c = round_constants();
  for (int i = 0; i < random_cases(300); ++i) {
    question const q = random_question(roll);
    step_terms const s = step_of(q, stages_of(q), c);
    CHECK(s.seconds > 0);
    double const sum = s.passes + s.bubble + s.stragglers + s.data + s.optimizer + s.update;
    CHECK(s.seconds == doctest::Approx(sum));
    pass_terms const passes = sum_of_passes(s);
    double const parts =
        passes.on_device() + passes.host + passes.sharding + passes.offload + passes.transfer;
    CHECK(parts == doctest::Approx(s.passes));
  }
}

TEST_CASE("step: more of anything is never slower") {
  random_case::dice roll(2);
  constants const c = round_constants();
  for (int i = 0; i < random_cases(600); ++i) {
    question const q = random_question(roll);
    bool const executed = is_executed(q, c);
    double const before = step_seconds(q, c);
    auto const is_no_slower = [&](question const& other, constants const& d) {
      double const jump = is_executed(other, d) == executed ? 1 : 1.02;
      return step_seconds(other, d) <= jump * before * max_of(rounding_of(q, c), rounding_of(other, d));
    };
    double const factor = 1 + roll.between(1, 100) / 10.0;
    for (double machine::*figure :
         {&machine::memory_bandwidth, &machine::inside, &machine::outside, &machine::exponentials})
      CHECK(is_no_slower(with_machine(q, figure, factor), c));
    question faster = q;
    for (double peak_rates::*rate :
         {&peak_rates::fp32, &peak_rates::tf32, &peak_rates::fp16, &peak_rates::bf16, &peak_rates::fp8})
      faster.cluster.device().peak.*rate *= factor;
    CHECK(is_no_slower(faster, c));
    // Less is exposed, lost or launched.
    for (double constants::*each :
         {&constants::tensor_exposed, &constants::tensor_exposed_tuned, &constants::data_exposed,
          &constants::contention, &constants::latency, &constants::host, &constants::host_expert,
          &constants::straggler, &constants::wave, &constants::traffic}) {
      constants less = c;
      less.*each /= factor;
      CHECK(is_no_slower(q, less));
    }
  }
}

TEST_CASE("step: a larger batch never takes less, and halves at most a constant more") {
  random_case::dice roll(3);
  constants const c = round_constants();
  for (int i = 0; i < random_cases(600); ++i) {
    question q = random_question(roll);
    step_terms const whole = step_of(q, stages_of(q), c);
    double const rounding = rounding_of(q, c);
    question larger = q;
    larger.batch += q.layout.micro_batch * q.layout.data;
    CHECK(step_seconds(larger, c) * rounding >= whole.seconds);
    if (q.micro_batches() % 2 != 0) continue;
    q.batch /= 2;
    step_terms const half = step_of(q, stages_of(q), c);
    // If they are executed, half of them may leave a group that is not whole.
    bool const executed = is_executed(q, c);
    if (!executed || q.micro_batches() % q.layout.pipeline == 0)
      CHECK(2 * half.seconds * rounding >= whole.seconds);
    if (executed) continue;  // their bubble may be in each group of micro-batches
    CHECK(2 * half.seconds <= (whole.seconds + half.seconds - half.passes) * rounding);
  }
}

TEST_CASE("step: a pipeline of equal stages waits for (p - 1) passes each way") {
  question q = asked(dense_model(8));
  q.layout.pipeline = 4;
  q.layout.data = 2;
  q.batch = 32;
  q.model.vocabulary = 1;  // the head is next to nothing
  constants const c = round_constants();
  step_terms const s = step_of(q, stages_of(q), c);
  CHECK(s.bubble == doctest::Approx(3.0 / 16 * s.passes).epsilon(0.05));
}

// If there are more than twelve groups, those in the middle are not executed, and cost as much.
TEST_CASE("step: uneven rounds of virtual stages take what their passes in order take") {
  question q = asked(dense_model(12));
  q.layout.pipeline = 2;
  q.layout.chunks = 2;
  q.layout.data = q.cluster.device_count() / 2;
  q.layout.stages = read_layout("5,1,1,5", q.model.predictions);
  q.model.vocabulary = 1;
  constants const c = round_constants();
  for (int m : {2, 8, 12, 24, 26, 30, 40}) {
    CAPTURE(m);
    q.batch = m * q.layout.data * q.layout.micro_batch;
    step_terms const s = step_of(q, stages_of(q), c);
    REQUIRE(has_uneven_rounds(q, s.of_stages));
    question run = q;
    run.layout.order = catalog::find("depth-first");
    std::vector<stage_passes> passes = s.of_stages;
    schedule const whole = execute(run, stages_of(run), passes, c, true).timed[0];
    double const seconds = 1e-9 * static_cast<double>(makespan(whole));
    CHECK(s.passes + s.bubble == doctest::Approx(seconds).epsilon(0.02));
    q.layout.stages = read_layout("3,3,3,3", q.model.predictions);
    CHECK(step_seconds(q, c) < s.seconds);
    q.layout.stages = read_layout("5,1,1,5", q.model.predictions);
  }
}

TEST_CASE("step: stragglers are of several nodes alone") {
  constants const c = round_constants();
  question q = asked(dense_model(4), 1);
  CHECK(step_of(q, stages_of(q), c).stragglers == 0);
  q = asked(dense_model(4), 4);
  step_terms const s = step_of(q, stages_of(q), c);
  CHECK(s.stragglers == doctest::Approx(2 * c.straggler * s.passes));
}

TEST_CASE("step: shards in a node are gathered faster, and their copies are summed each time or once") {
  constants const c = round_constants();
  question q = asked(dense_model(4, 4096), 4);
  q.layout.sharding = sharding::full;
  q.batch = 4 * q.layout.data;
  auto const sharding_of = [&] { return sum_of_passes(step_of(q, stages_of(q), c)).sharding; };
  double const all = sharding_of();
  CHECK(step_of(q, stages_of(q), c).data == 0);
  q.layout.shard_ranks = 32;
  CHECK(sharding_of() == all);
  q.layout.shard_ranks = 8;
  q.program.sums_copies_once = true;
  double const once = sharding_of();
  parameter_counts const held = held_by_stage(q.model, q.layout, stages_of(q)[0]).trained;
  // It moves 32 bits of an eighth, over four copies and each device's half of its port, both ways.
  double const sum = 2 * 4 * held.both() / 8 * 3 / 4 / (0.5 * 50e9);
  CHECK(once < all);
  CHECK(step_of(q, stages_of(q), c).data == doctest::Approx(sum));
  q.program.sums_copies_once = false;
  CHECK(sharding_of() > once);
  CHECK(sharding_of() <= once + 4 * sum * (1 + 1e-9));
  CHECK(step_of(q, stages_of(q), c).data == 0);
  q.layout.shard_ranks = 0;
  q.layout.weight_ranks = 8;
  CHECK(sharding_of() < all);
  // With shards of the optimizer, gradients are summed over copies, too, and less of the weights is
  // gathered.
  q.layout.weight_ranks = 0;
  q.layout.sharding = sharding::optimizer;
  q.program.kind = program_kind::tuned;
  double const optimizer = step_of(q, stages_of(q), c).optimizer;
  q.layout.shard_ranks = 8;
  CHECK(step_of(q, stages_of(q), c).optimizer == doctest::Approx(4 * optimizer));
}

TEST_CASE("step: gradients that are shared beside a pipeline are summed once for each group") {
  constants const c = round_constants();
  question q = asked(dense_model(8), 4);
  q.program.kind = program_kind::tuned;
  q.layout.pipeline = 4;
  q.layout.chunks = 2;
  q.layout.data = 8;
  auto const data_of = [&](sharding shares, int micro_batches) {
    q.layout.sharding = shares;
    q.batch = micro_batches * q.layout.data;
    return step_of(q, stages_of(q), c).data;
  };
  double const one_group = data_of(sharding::gradients, 4);
  CHECK(one_group == data_of(sharding::optimizer, 4));
  double const two = data_of(sharding::gradients, 8) - one_group,
               three = data_of(sharding::gradients, 12) - one_group;
  CHECK(two > 0);
  CHECK(three == doctest::Approx(2 * two));
  CHECK(data_of(sharding::optimizer, 12) == one_group);
  q.layout.chunks = 1;
  CHECK(data_of(sharding::gradients, 12) == data_of(sharding::gradients, 4));
}

TEST_CASE("step: a plain program's host updates while the device has passes queued") {
  constants c = round_constants();
  question q = asked(dense_model(8), 2);
  q.program.kind = program_kind::plain;
  auto const terms = [&](double host, double update) {
    c.host = host;
    c.host_update = update;
    return step_of(q, stages_of(q), c);
  };
  CHECK(terms(1, 4e-3).update == doctest::Approx(8 * 4e-3));  // the host is behind
  step_terms const ahead = terms(1e-9, 4e-3), far_behind = terms(1e-9, 1);
  CHECK(ahead.update == 0);
  CHECK(far_behind.update > 0);
  CHECK(far_behind.update < 8);
  CHECK(far_behind.seconds < ahead.seconds + 8);
}

TEST_CASE("step: a plain program exchanges each part of a layer by itself where ranks have shards") {
  constants const c = round_constants();
  question q = asked(dense_model(8), 16);
  q.program.kind = program_kind::plain;
  q.layout.sharding = sharding::optimizer;
  q.batch = q.layout.data;
  question twice = q;
  twice.model = dense_model(16);
  double const more = step_of(twice, stages_of(twice), c).data - step_of(q, stages_of(q), c).data;
  CHECK(more > 8 * 12 * ring_seconds(q.cluster, q.layout, 128, 1));
  CHECK(ring_seconds(q.cluster, q.layout, 128, 1) > 15 * 14e-6);
}

}  // namespace ashlar::cost::testing

#include <ashlar/plan/training/planner.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan/training/training_plan.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace ashlar;

namespace {

// Four layers on four devices; a second is 1e6 operations.
plan_question small_question() {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
  q.kinds[0].machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 2};
  q.kinds[0].count = 4;
  q.batch = 4;
  q.largest_micro_batch = 1;
  q.tensor = 1;
  q.widths.scores = 0;
  return q;
}

constexpr auto no_words = [](plan_phase, std::size_t, std::size_t) {};

TEST_CASE("planner: answer") {
  plan_question const q = small_question();
  plan_answer const a = answer(q, {catalog::find("1f1b")}, 2, no_words);
  CHECK((a.best.size() == 2 && a.rejected.empty()));
  CHECK((a.best[0].seconds <= a.best[1].seconds && a.best[0].bound <= a.best[0].seconds));
}

// Without memory all are rejected, the smallest first.
TEST_CASE("planner: rejected") {
  plan_question q = small_question();
  q.kinds[0].machine.memory = 1;
  plan_answer const none = answer(q, {catalog::find("1f1b")}, 2, no_words);
  CHECK((none.best.empty() && none.rejected.size() > 1));
  CHECK((none.rejected[0].bytes <= none.rejected[1].bytes && none.rejected[0].bytes > 1));
  CHECK(tried_first(q, none).plan.entry == nullptr);
}

rule refused(plan_question const& q, std::size_t top = 1) {
  return violations::broken_by([&] { answer(q, {catalog::find("1f1b")}, top, no_words); });
}

// Every question is answered or refused.
TEST_CASE("planner: figures that are no figures are refused") {
  auto const with = [](auto change) {
    plan_question q = small_question();
    change(q);
    return refused(q);
  };
  CHECK(refused(small_question()) == rule::none);
  CHECK(refused(small_question(), 0) == rule::parameter_is_at_least);
  constexpr int huge = std::numeric_limits<int>::max();
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const wrong : {0.0, -1.0, -inf, inf, std::nan(""), 1e300}) {
    CAPTURE(wrong);
    CHECK(with([=](auto& q) { q.kinds[0].machine.flops = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.kinds[0].machine.inside = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.kinds[0].machine.between = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.kinds[0].machine.memory = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.kinds[0].constants.products = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.model.hidden = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.model.heads = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.model.sequence = wrong; }) == rule::figures_are_in_range);
    if (wrong == 0) continue;
    CHECK(with([=](auto& q) { q.between_kinds = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.kinds[0].constants.exchange = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.widths.input = wrong; }) == rule::figures_are_in_range);
    CHECK(with([=](auto& q) { q.margin = wrong; }) == rule::figures_are_in_range);
  }
  for (int const wrong : {0, -1, -huge, huge}) {
    CAPTURE(wrong);
    rule const expected = wrong == huge ? rule::parameter_is_at_most : rule::parameter_is_at_least;
    CHECK(with([=](auto& q) { q.batch = wrong; }) == expected);
    CHECK(with([=](auto& q) { q.model.layers = wrong; }) == expected);
    CHECK(with([=](auto& q) { q.kinds[0].count = wrong; }) == expected);
    CHECK(with([=](auto& q) { q.kinds[0].machine.node_size = wrong; }) == expected);
    CHECK(with([=](auto& q) { q.largest_micro_batch = wrong; }) == expected);
    CHECK(with([=](auto& q) { q.chunks = {wrong}; }) == expected);
    CHECK(with([=](auto& q) { q.sequence_chunks = {wrong}; }) == expected);
  }
  CHECK(with([](auto& q) { q.kinds.clear(); }) == rule::parameter_is_at_least);
  CHECK(with([](auto& q) { q.kind = 1; }) == rule::parameter_is_at_most);
  CHECK(with([](auto& q) { q.lists.resize(1); }) == rule::tables_agree);
}

// A makespan that does not fit into ticks would be said to be shorter than its bound.
TEST_CASE("planner: times and bytes beyond their range are refused") {
  plan_question q = small_question();
  q.kinds[0].machine.flops = 1e-6;
  CHECK(refused(q) == rule::ticks_fit);
  q = small_question();
  q.model.hidden = q.model.vocabulary = 1e12;
  CHECK((refused(q) == rule::sizes_fit || refused(q) == rule::ticks_fit));
  q = small_question();
  q.lists = {{.layers = std::vector<listed_layer>(4, {{1e15, 1}})}};
  CHECK(refused(q) == rule::ticks_fit);
}

TEST_CASE("planner: first to try") {
  plan_question const q = small_question();
  plan_answer const a = answer(q, {catalog::find("1f1b")}, 1, no_words);
  planned_step const first = tried_first(q, a);
  // Everything fits: no recomputation, and the fewest devices of a model.
  CHECK((first.plan.layout.again == recomputation::none && first.plan.layout.devices_of_model() == 1));
  CHECK((first.seconds > 0 && rules_know(first.plan)));
  plan_answer only;
  only.fitting.push_back(first);
  only.fitting[0].plan.sharding = sharding_level::full;
  CHECK(tried_first(q, only).plan.entry == nullptr);
  training_plan other = first.plan;
  other.layout.pipeline = 2;
  CHECK(comes_before(q, first.plan, other) == layout_reason::fewer_devices_of_model);
  other = first.plan;
  other.layout.sequence_parallel = !other.layout.sequence_parallel;
  CHECK(comes_before(q, first.plan, other) == layout_reason::none);
}

}  // namespace

TEST_CASE("planner: fewer device seconds on fewer devices") {
  plan_question q = small_question();
  q.takes_fewer_devices = true;
  q.objective = plan_objective::device_time;
  plan_answer const a = answer(q, {catalog::find("1f1b")}, 1, no_words);
  CHECK(a.best[0].plan.device_count() == 1);  // it neither waits nor moves anything
  CHECK(objective_of(q, a.best[0].plan, 3) == 3);
  q.objective = plan_objective::time;
  CHECK(answer(q, {catalog::find("1f1b")}, 1, no_words).best[0].plan.device_count() == 4);
}

TEST_CASE("planner: a search shortens a step within the memory of its devices") {
  plan_question q = small_question();
  q.batch = 8;
  training_plan const plan{.layout = {.pipeline = 4},
                           .micro_batches = 8,
                           .entry = catalog::find("1f1b"),
                           .layers = {1, 1, 1, 1}};
  planned_step step{.plan = plan};
  find_fullest_device(q, passes_of(plan, 8), step);
  step.bound = least_seconds(q, plan);
  double const before = step.seconds = simulated_seconds(q, plan);
  improve_step(q, step, 0);
  CHECK(step.passes.order.empty());
  improve_step(q, step, 200'000);
  CHECK(step.seconds < before);  // weight passes fill the bubble of 1F1B
  CHECK(step.catalog == before);
  CHECK(step.seconds >= step.bound);
  CHECK(step.bytes <= q.budget(q.kinds[0].machine));
  CHECK(passes_of(step) == step.passes);
  // There is no room for more than 1F1B holds: it is still no longer.
  q.kinds[0].machine.memory = step.bytes;
  planned_step tight{.plan = plan};
  find_fullest_device(q, passes_of(plan, 8), tight);
  tight.seconds = before;
  improve_step(q, tight, 50'000);
  CHECK(tight.seconds <= before);
  CHECK(tight.bytes <= q.budget(q.kinds[0].machine));
}

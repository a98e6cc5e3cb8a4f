#include <ashlar/simulate/options.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("each kind of value has its size") {
  simulation_options o;
  o.memory.stages = {{.activation = 2,
                      .gradient = 3,
                      .stash = 5,
                      .weight_stash = 7,
                      .sequence_state = 11,
                      .sequence_gradient = 13}};
  auto const of = [&](slot_kind kind) { return o.size_of({kind, 0, 0, 0}, 1); };
  CHECK((of(slot_kind::activation) == 2 && of(slot_kind::gradient) == 3 && of(slot_kind::stash) == 5));
  CHECK((of(slot_kind::checkpoint) == 5 && of(slot_kind::weight_stash) == 7));
  CHECK((of(slot_kind::sequence_state) == 11 && of(slot_kind::sequence_gradient) == 13));
  CHECK((of(slot_kind::scalar) == 8 && of(slot_kind::work) == 0));
  for (int const nowhere : {-1, 1}) {
    CHECK(o.size_of({slot_kind::activation, nowhere, 0, 0}, 1) == 0);
    CHECK(o.size_of({slot_kind::gradient, 0, 0, nowhere}, 1) == 0);
  }
}

TEST_CASE("a job's output and its state have sizes of their own, and other jobs none") {
  simulation_options o;
  o.work_bytes = {{.output = 3, .state = 5}};
  CHECK(o.size_of({slot_kind::work, 0, 0, 0}, 1) == 3);
  CHECK(o.size_of({slot_kind::work_state, 0, 0, 0}, 1) == 5);
  CHECK(o.size_of({slot_kind::work_state, 1, 0, 0}, 1) == 0);
}

TEST_CASE("a ring takes 2 (n - 1) latencies and 2 (n - 1) / n of the bytes") {
  link_speed const l{.latency = 7, .bandwidth = 3};
  CHECK(ring_time(l, 1'000, 1) == 0);
  CHECK(ring_time(l, 1'000, 2) == 2 * 7 + 334);                   // 2 * 1/2 * 1000 / 3
  CHECK(ring_time(l, 1'200, 4) == 6 * 7 + 600);                   // 2 * 3/4 * 1200 / 3
  CHECK(ring_time({.latency = 5, .bandwidth = 0}, 99, 8) == 70);  // 2 * 7 * 5
  CHECK(ring_time({.latency = max_tick, .bandwidth = 1}, 1, 3) == max_tick);
  CHECK(ring_time({.latency = 7, .bandwidth = 3, .period = 2}, 1'000, 2) == 2 * 7 + 667);
  CHECK((l.byte_time(0) == 0 && l.byte_time(3) == 1 && l.byte_time(4) == 2));
}

TEST_CASE("half a ring takes n - 1 latencies and (n - 1) / n of the bytes") {
  link_speed const l{.latency = 7, .bandwidth = 3};
  CHECK(half_ring_time(l, 1'000, 1) == 0);
  CHECK(half_ring_time(l, 1'000, 2) == 7 + 167);      // 1/2 * 1000 / 3, rounded up
  CHECK(half_ring_time(l, 1'200, 4) == 3 * 7 + 300);  // 3/4 * 1200 / 3
  CHECK(half_ring_time({.latency = 7, .bandwidth = 3, .period = 2}, 1'000, 2) == 7 + 334);
}

TEST_CASE("a gradient is of as many units as the pass that makes it") {
  simulation_options o;
  o.memory.stages = {{.gradient = 10}, {.gradient = 7}};
  stage_graph const larger = in_micro_batches(chain(stages{2}), {1, 4}),
                    smaller = in_micro_batches(chain(stages{2}), {4, 1});
  value_key const gradient{.kind = slot_kind::gradient, .of = 1, .to = 0};
  CHECK(o.size_of(gradient, chain(stages{2})) == 10);
  CHECK((o.size_of(gradient, larger) == 40 && o.size_of(gradient, smaller) == 3));
  o.memory.stages = {{.gradient = 1}};
  CHECK((o.size_of(gradient, larger) == 4 && o.size_of(gradient, smaller) == 1));
  o.memory.stages = {{.gradient = 0}};
  CHECK(o.size_of(gradient, larger) == 0);
}

TEST_CASE("without options a program runs alone, for nothing beside its passes") {
  simulation_options const o;
  CHECK((o.optimizer == 0 && o.data_ranks == 1));
}

}  // namespace

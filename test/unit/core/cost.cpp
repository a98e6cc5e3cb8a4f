#include <ashlar/core/cost.hpp>
// First, so that it needs nothing before it.

#include "violations.hpp"

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("costs of a stage's passes") {
  stage_cost const c{.forward = 2, .backward_input = 3, .backward_weight = 5};
  CHECK(c.of(pass_kind::forward) == 2);
  CHECK(c.of(pass_kind::recompute) == 2);  // as long as a forward unless told otherwise
  CHECK(c.of(pass_kind::backward) == 8);
  CHECK(c.of(pass_kind::backward_input) == 3);
  CHECK(c.of(pass_kind::backward_weight) == 5);
  CHECK(c.of(pass_kind::work) == 0);  // its job says
  CHECK(stage_cost{2, 3, 5, 7}.of(pass_kind::recompute) == 7);
}

TEST_CASE("one cost for all stages or one each") {
  costs const unit;
  CHECK(unit.of({pass_kind::backward, 17, 0}, 0) == 2);
  CHECK(unit.transfer(0, 1) == 0);
  costs const alike(stage_cost{4, 5, 6}, 7);
  CHECK((alike.of({pass_kind::forward, 0, 0}, 0) == 4 && alike.of({pass_kind::forward, 9, 3}, 0) == 4));
  CHECK(alike.transfer(0, 1) == 7);
  costs const each(std::vector<stage_cost>{{1, 1, 1}, {2, 3, 4}});
  CHECK((each.of({pass_kind::forward, 0, 0}, 0) == 1 && each.of({pass_kind::forward, 1, 0}, 0) == 2));
  CHECK(each.of_stage(1).backward_input == 3);
  CHECK((each != alike && each == costs(each)));
}

TEST_CASE("chunks of a sequence have their own times") {
  // Stages 0 and 1, each of a sequence's first and second chunk.
  costs c(std::vector<stage_cost>{{1, 2, 3}, {4, 5, 6, 9}, {7, 8, 9}, {10, 11, 12}});
  c.sequence_chunks = 2;
  auto const forward = [&](int stage, int k) { return c.of({pass_kind::forward, stage, k}, 0); };
  CHECK((forward(0, 0) == 1 && forward(0, 1) == 4 && forward(1, 0) == 7 && forward(1, 1) == 10));
  CHECK((forward(0, 6) == 1 && forward(1, 7) == 10));  // of the fourth sequence
  CHECK((c.of({pass_kind::backward, 0, 3}, 0) == 11 && c.of({pass_kind::recompute, 0, 3}, 0) == 9));
  CHECK((c.of_stage(1, 1).backward_weight == 12 && c.of_stage(1).backward_weight == 9));
  c.speeds = {50};
  CHECK((forward(1, 1) == 20 && c.of({pass_kind::backward, 1, 2}, 0) == 2 * (8 + 9)));
  c.speeds.clear();
  c.per_stage.resize(2);  // for all stages
  CHECK((forward(0, 5) == 4 && forward(3, 4) == 1 && forward(3, 5) == 4));
  costs alike = c;
  alike.sequence_chunks = 1;
  CHECK((alike != c && alike.of({pass_kind::forward, 1, 0}, 0) == 4));
}

TEST_CASE("times at a speed are rounded up") {
  CHECK((at_speed(10, 100) == 10 && at_speed(10, 50) == 20 && at_speed(10, 200) == 5));
  CHECK((at_speed(10, 30) == 34 && at_speed(9, 30) == 30));  // 33.3 ticks take 34
  CHECK((at_speed(1, 1000) == 1 && at_speed(0, 3) == 0));
  CHECK((at_speed(max_tick, 100) == max_tick && at_speed(max_tick, 200) == max_tick / 2 + 1));
  CHECK((at_speed(max_tick, 99) == max_tick && at_speed(max_tick / 100, 1) == max_tick / 100 * 100));
  CHECK(at_speed(max_tick, 1) == max_tick);
}

TEST_CASE("each device has its own times") {
  costs c({.forward = 10, .backward_input = 13, .backward_weight = 7}, 3);
  costs const nominal = c;
  c.speeds = {100, 40};
  for (int stage : {0, 3})
    for (pass_kind kind : {pass_kind::forward, pass_kind::backward, pass_kind::backward_weight})
      CHECK(c.of({kind, stage, 0}, 0) == nominal.of({kind, stage, 0}, 1));
  CHECK((c.of({pass_kind::forward, 1, 0}, 1) == 25 && c.of({pass_kind::backward_input, 1, 0}, 1) == 33));
  CHECK(c.of({pass_kind::backward_weight, 1, 0}, 1) == 18);
  CHECK(c.of({pass_kind::backward, 1, 0}, 1) == 33 + 18);  // as long as in two parts
  CHECK(c.of({pass_kind::recompute, 1, 0}, 1) == 25);      // as long as a forward still
  pass const f{pass_kind::forward, 0, 0}, b{pass_kind::backward, 1, 0};
  CHECK((c.of_pair(f, b, 0) == 30 && c.of_pair(f, b, 1) == 25 + 51));
  c.overlapped = 20;
  CHECK((c.of_pair(f, b, 0) == 20 && c.of_pair(f, b, 1) == 50));
  c.per_stage.resize(4, c.per_stage[0]);
  c.per_stage[2].recompute = 4;
  CHECK((c.of({pass_kind::recompute, 2, 0}, 1) == 10 && c.of({pass_kind::recompute, 3, 0}, 1) == 25));
}

TEST_CASE("each pair of devices has its own link") {
  costs c(stage_cost{}, 3);
  CHECK((c.transfer(2, 2) == 0 && c.transfer(0, 1) == 3 && c.transfer(5, 0) == 3));
  c.links.node_size = 2;                                    // 0 1, 2 3, ...
  CHECK((c.transfer(0, 1) == 3 && c.transfer(1, 2) == 3));  // as long as any
  c.links.between = {.latency = 10, .bandwidth = 4};
  CHECK((c.transfer(0, 1) == 3 && c.transfer(1, 2) == 10 && c.transfer(3, 0) == 10));
  c.message = 9;
  CHECK((c.transfer(0, 1) == 3 && c.transfer(1, 2) == 13 && c.transfer(2, 1) == 13));
  stretch_transfers(c, 2);
  CHECK((c.transfer(0, 1) == 6 && c.transfer(1, 2) == 25));  // 18 bytes
  link_speed const l{.latency = 7, .bandwidth = 3};
  CHECK((l.byte_time(0) == 0 && l.byte_time(3) == 1 && l.byte_time(4) == 2 && l.time_of(4) == 9));
  CHECK(link_speed{.latency = max_tick, .bandwidth = 1}.time_of(5) == max_tick);
}

TEST_CASE("transfers are stretched, or refused") {
  costs c(stage_cost{}, 7);
  stretch_transfers(c, 3);
  CHECK((c.transfer(0, 1) == 21 && c.message == 0));
  CHECK_BREAKS(counts_are_positive, stretch_transfers(c, 0));
  CHECK_BREAKS(ticks_fit, stretch_transfers(c, max_tick));
}

}  // namespace

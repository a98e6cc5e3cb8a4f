#include <ashlar/core/cost.hpp>
// The header above comes first: it needs nothing before it.

#include "violations.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("one cost for all stages or one each") {
  costs const unit;
  CHECK(unit.of({pass_kind::backward, 17, 0}, 0) == 2);
  CHECK(unit.transfer(0, 1) == 0);
  costs const alike(stage_cost{4, 5, 6}, 7);
  CHECK((alike.of({pass_kind::forward, 0, 0}, 0) == 4 && alike.of({pass_kind::forward, 9, 3}, 0) == 4));
  CHECK(alike.transfer(0, 1) == 7);
  costs const each(std::vector<stage_cost>{{1, 1, 1}, {2, 3, 4}});
  CHECK((each.of({pass_kind::forward, 0, 0}, 0) == 1 && each.of({pass_kind::forward, 1, 0}, 0) == 2));
  CHECK(each.passes.of(1).backward_input == 3);
  CHECK((each != alike && each == costs(each)));
}

TEST_CASE("each device has its own times") {
  costs c({.forward = 10, .backward_input = 13, .backward_weight = 7}, 3);
  costs const nominal = c;
  c.on.speeds = {100, 40};
  for (int stage : {0, 3})
    for (pass_kind kind : {pass_kind::forward, pass_kind::backward, pass_kind::backward_weight})
      CHECK(c.of({kind, stage, 0}, 0) == nominal.of({kind, stage, 0}, 1));
  CHECK((c.of({pass_kind::forward, 1, 0}, 1) == 25 && c.of({pass_kind::backward_input, 1, 0}, 1) == 33));
  CHECK(c.of({pass_kind::backward_weight, 1, 0}, 1) == 18);
  CHECK(c.of({pass_kind::backward, 1, 0}, 1) == 33 + 18);  // as long as in two parts
  CHECK(c.of({pass_kind::recompute, 1, 0}, 1) == 25);      // as long as a forward still
  pass const f{pass_kind::forward, 0, 0}, b{pass_kind::backward, 1, 0};
  CHECK((c.of_pair(f, b, 0) == 30 && c.of_pair(f, b, 1) == 25 + 51));
  c.passes.overlapped = 20;
  CHECK((c.of_pair(f, b, 0) == 20 && c.of_pair(f, b, 1) == 50));
  c.passes = std::vector<stage_cost>(4, c.passes.of(0));
  c.passes.at(2).recompute = 4;
  CHECK((c.of({pass_kind::recompute, 2, 0}, 1) == 10 && c.of({pass_kind::recompute, 3, 0}, 1) == 25));
}

TEST_CASE("each pair of devices has its own link") {
  costs c(stage_cost{}, 3);
  CHECK((c.transfer(2, 2) == 0 && c.transfer(0, 1) == 3 && c.transfer(5, 0) == 3));
  c.on.links.node_size = 2;                                 // 0 1, 2 3, ...
  CHECK((c.transfer(0, 1) == 3 && c.transfer(1, 2) == 3));  // as long as any
  c.on.links.between = {.latency = 10, .bandwidth = 4};
  CHECK((c.transfer(0, 1) == 3 && c.transfer(1, 2) == 10 && c.transfer(3, 0) == 10));
  c.message = 9;
  CHECK((c.transfer(0, 1) == 3 && c.transfer(1, 2) == 13 && c.transfer(2, 1) == 13));
  stretch_transfers(c.on, 2);
  CHECK((c.transfer(0, 1) == 6 && c.transfer(1, 2) == 25));  // 9 bytes, 4 in two ticks
  c.on.links.exceptions = {{1, 2, {7}}};
  CHECK((c.transfer(1, 2) == 7 && c.transfer(2, 1) == 25));
  stretch_transfers(c.on, 2);
  CHECK((c.transfer(1, 2) == 14 && c.transfer(2, 1) == 49 && c.message == 9));
  link_speed const l{.latency = 7, .bandwidth = 3};
  CHECK((l.byte_time(0) == 0 && l.byte_time(3) == 1 && l.byte_time(4) == 2 && l.time_of(4) == 9));
  CHECK(link_speed{.latency = max_tick, .bandwidth = 1}.time_of(5) == max_tick);
}

TEST_CASE("costs of schedules that are joined") {
  costs const plain(stage_cost{4, 5, 6}, 7);
  CHECK(joined(plain, 2, plain, 3) == plain);
  costs told = plain;
  told.passes = pass_costs::by_stage_and_micro_batch({{1}, {2}}, 2);
  costs const both = joined(plain, 1, told, 2);
  CHECK(both.passes == pass_costs::by_stage_and_micro_batch({{4, 5, 6}, {1}, {2}}, 3));
  CHECK(joined(told, 2, told, 2).passes.micro_batches() == 4);
  CHECK(of_micro_batches(both.passes, 2) == pass_costs::by_stage_and_micro_batch({{4, 5, 6}, {1}}, 2));
  CHECK(of_micro_batches(plain.passes, 2) == plain.passes);
  CHECK_BREAKS(parts_are_alike, joined(plain, 1, costs(stage_cost{4, 5, 7}, 7), 1));
  CHECK_BREAKS(parts_are_alike, joined(told, 2, costs(stage_cost{}, 1), 1));
}

TEST_CASE("joined costs are of no more passes than there may be, and messages have no bytes at first") {
  costs const own(pass_costs::by_stage_and_micro_batch({{1}, {2}}, 2), machine{});
  CHECK_BREAKS(parameter_is_at_most, joined(own, most_passes, own, 1));
  CHECK_BREAKS(parameter_is_at_least, joined(own, -1, own, 1));
  CHECK(costs{}.message == 0);
}

TEST_CASE("transfers are stretched, or refused") {
  costs c(stage_cost{}, 7);
  c.on.host.speed = {.latency = 1, .bandwidth = 3};
  c.on.collective = {.latency = 2, .bandwidth = 10, .period = 5};
  stretch_transfers(c.on, 3);
  CHECK((c.transfer(0, 1) == 21 && c.on.links.inside.period == 1));
  CHECK(c.on.host.speed == link_speed{.latency = 3, .bandwidth = 3, .period = 3});
  CHECK(c.on.collective == link_speed{.latency = 6, .bandwidth = 10, .period = 15});
  CHECK_BREAKS(counts_are_positive, stretch_transfers(c.on, 0));
  CHECK_BREAKS(ticks_fit, stretch_transfers(c.on, max_tick));
}

TEST_CASE("costs are joined where only single micro-batches differ") {
  stage_cost const one{1, 1, 1}, two{2, 2, 2}, three{3, 3, 3};
  auto const by_micro_batch = [](std::vector<stage_cost> each, int m) {
    return costs(pass_costs::by_stage_and_micro_batch(std::move(each), m));
  };
  CHECK(joined(costs{one}, 2, costs{one}, 3) == costs{one});
  CHECK_BREAKS(parts_are_alike, joined(costs{one}, 2, costs{two}, 2));
  CHECK_BREAKS(parts_are_alike, joined(costs(one, 1), 2, costs(one, 2), 2));
  costs const both = joined(by_micro_batch({one, two}, 2), 2, costs{three}, 1);
  CHECK(both == by_micro_batch({one, two, three}, 3));
  // Stages may be alike on one side; two tables are of the same stages.
  costs const staged = joined(by_micro_batch({one, two, three, one}, 2), 2, costs{two}, 1);
  CHECK(staged == by_micro_batch({one, two, two, three, one, two}, 3));
  CHECK(joined(costs{two}, 1, by_micro_batch({one, two, three, one}, 2), 2)
        == by_micro_batch({two, one, two, two, three, one}, 3));
  CHECK_BREAKS(parts_are_alike,
               joined(by_micro_batch({one, two, three, one}, 2), 2, costs({one, two, three}), 1));
}

}  // namespace

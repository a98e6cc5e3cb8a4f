#include <ashlar/block/check.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace shapes;

namespace {

constexpr block good() { return catalog::zb_h1(devices{3}); }

constexpr rule broken(block const& b) { return check(b).broken; }

TEST_CASE("sizes of a block") {
  block b = good();
  CHECK(check(b).ok());
  CHECK(broken(block{}) == rule::counts_are_positive);
  CHECK(broken(with_interval(b, 0)) == rule::counts_are_positive);
  b.graph = chain(stages{2});
  CHECK(broken(b) == rule::tables_agree);
  b = good();
  b.route.clear();
  CHECK((broken(b) == rule::counts_are_positive && check(b).number == 0));
  CHECK((check_form(b).broken == rule::counts_are_positive && check_form(b).number == 0));
  b = good();
  b.route = {1};
  CHECK(broken(b) == rule::micro_batches_take_a_route);
  b.route = {-1};
  CHECK(broken(b) == rule::micro_batches_take_a_route);
}

TEST_CASE("costs") {
  auto const with = [](costs c) { return check(c, 3, 2, 4, 1); };
  CHECK(with({}).ok());
  CHECK(with(costs(std::vector<stage_cost>(3))).ok());
  CHECK(with(costs(std::vector<stage_cost>(2))).broken == rule::tables_agree);
  CHECK(with(costs(stage_cost{}, -1)).broken == rule::no_duration_is_negative);
  CHECK(with(costs(stage_cost{0, 0, 0, 0})).ok());
  CHECK(with(costs(stage_cost{-1, 1, 1})).broken == rule::no_duration_is_negative);
  CHECK(with(costs(stage_cost{1, -2, 1})).broken == rule::no_duration_is_negative);
  CHECK(with(costs(stage_cost{1, 1, -7})).broken == rule::no_duration_is_negative);
  auto const of_one_pass = [](tick forward) {
    return check(execution_costs{pass_costs(stage_cost{forward, 0, 0, 0}), {}}, 1, 1, 1, 1).broken;
  };
  CHECK((of_one_pass(max_tick - 1) == rule::none && of_one_pass(max_tick) == rule::ticks_fit));
  costs slow;  // links without latency
  slow.on.links.inside.bandwidth = 1;
  CHECK(with(slow).ok());
  slow.message = max_tick / 2;
  CHECK(with(slow).broken == rule::ticks_fit);
  costs slow_host;
  slow_host.on.host.speed.latency = -1;
  CHECK(with(slow_host).broken == rule::no_duration_is_negative);
  CHECK(with(costs(stage_cost{1, 1, 1, -2})).broken == rule::no_duration_is_negative);
  CHECK(with(costs({{1, 1, 1}, {1, 1, 1}, {1, 1, -1}})).first.what == pass{W, 2, 0});
  CHECK(with(costs(stage_cost{max_tick, 1, 1})).broken == rule::ticks_fit);
  CHECK(with(costs(stage_cost{max_tick / 8, 1, 1})).broken == rule::ticks_fit);
  CHECK(with(costs(stage_cost{}, max_tick)).broken == rule::ticks_fit);
  CHECK(with(costs(stage_cost{1'000'000'000, 1, 1})).ok());
}

TEST_CASE("each pass of a block once") {
  block b = good();
  b.cells.push_back(b.cells[4]);
  CHECK(check(b).broken == rule::no_pass_is_doubled);
  CHECK((check(b).first.what == b.cells[4].what && check(b).first.index == 9));
  b = good();
  b.cells[0].what.stage = 3;
  CHECK(broken(b) == rule::every_pass_is_known);
  b.cells[0].what = {F, 0, 1};
  CHECK(broken(b) == rule::every_pass_is_known);
  for (std::size_t i = 0; i < 9; ++i) {
    b = good();
    b.cells.erase(b.cells.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(broken(b) == rule::every_pass_is_present);
    CHECK(check(b).first.device == static_cast<int>(i / 3));
  }
  b = good();
  b.cells.push_back({{B, 1, 0}, 100});
  CHECK(broken(b) == rule::backward_is_fused_or_split);
  b = catalog::one_f_one_b(devices{3});
  b.cells.push_back({{W, 1, 0}, 100});
  CHECK(broken(b) == rule::backward_is_fused_or_split);
  // Larger micro-batches have fewer passes, and each of these has to be there.
  b = make_block(linear(devices{2}), {}, 20, {F, B}, [](pass_kind kind, int stage) {
    return kind == F ? tick{2 * stage} : tick{4 + 3 * (1 - stage)};
  });
  b.graph = in_micro_batches(chain(stages{2}), {1, 2});
  b.route = {0, 0};
  b.cells.push_back({{F, 0, 1}, 1});
  b.cells.push_back({{B, 0, 1}, 10});
  CHECK(check(b).ok());
  b.cells.pop_back();
  CHECK((broken(b) == rule::every_pass_is_present && check(b).first.what == pass{B, 0, 1}));
  // Inference has forwards alone; a weight pass by itself is no forward either.
  b = make_block(linear(devices{3}), {}, 3, {F}, [](pass_kind, int stage) { return tick{stage}; });
  b.mode = execution_mode::inference;
  CHECK(check(b).ok());
  b.cells.push_back({{W, 1, 0}, 100});
  CHECK((broken(b) == rule::inference_goes_forward_only && check(b).first.what == pass{W, 1, 0}));
}

// The fields may hold anything.
TEST_CASE("times and kinds beyond all range") {
  constexpr tick least = std::numeric_limits<tick>::min(), most = std::numeric_limits<tick>::max();
  for (tick wrong : {least, -max_tick, max_tick, most}) {
    block b = good();
    b.cells[1].offset = wrong;
    CHECK((broken(b) == rule::ticks_fit && check(b).first.index == 1));
    b = good();
    b.interval = wrong;
    CHECK(broken(b) == (wrong < 0 ? rule::counts_are_positive : rule::ticks_fit));
  }
  block b = good();
  b.cells.back().what.kind = static_cast<pass_kind>(6);
  CHECK(broken(b) == rule::every_pass_is_known);
}

TEST_CASE("inputs before their readers") {
  diagnosis d = check(good() | delay({F, 1, 0}, -1));
  CHECK((d.broken == rule::no_pass_starts_before_its_input && d.number == 1));
  CHECK((d.first.what == pass{F, 1, 0} && d.first.device == 1));
  CHECK((d.second.what == pass{F, 0, 0} && d.second.device == 0));
  d = check(good() | delay({I, 0, 0}, -3));
  CHECK((d.broken == rule::no_pass_starts_before_its_input && d.second.what == pass{I, 1, 0}));
  CHECK(d.number == 2);
  CHECK(broken(good() | delay({W, 0, 0}, -6)) == rule::no_pass_starts_before_its_input);
  block b = good();
  b.cost.on.links.inside.latency = 1;
  CHECK(broken(b) == rule::no_pass_starts_before_its_input);
  CHECK(check(recomputed(4)).ok());
  CHECK(broken(recomputed(4) | delay({R, 2, 0}, 1)) == rule::no_pass_starts_before_its_input);
  CHECK(check(fork_join() | delay({F, 3, 0}, -9)).second.what == pass{F, 1, 0});  // of two the first
}

TEST_CASE("a join waits for all its branches") {
  CHECK(check(fork_join()).ok());
  diagnosis const d = check(fork_join() | with_interval(30) | delay({F, 2, 0}, 1));
  CHECK(d.broken == rule::no_pass_starts_before_its_input);
  CHECK((d.first.what == pass{F, 3, 0} && d.second.what == pass{F, 2, 0}));
}

TEST_CASE("no collisions modulo the interval") {
  diagnosis d = check(good() | delay({W, 2, 0}, 1));
  CHECK((d.broken == rule::passes_do_not_collide && d.first.device == 2));
  d = check(good() | delay({W, 2, 0}, 3'000'001));
  CHECK(d.broken == rule::passes_do_not_collide);
  CHECK(check(good() | delay({W, 2, 0}, 3'000'000)).ok());
  CHECK(broken(good() | with_interval(2)) == rule::passes_do_not_collide);
  CHECK(check(good() | with_interval(100)).ok());
  // A pass longer than the interval meets itself.
  block const b = make_block(linear(devices{1}), costs(stage_cost{9, 1, 1}), 5, {F, B},
                             [](pass_kind kind, int) { return tick{kind == F ? 0 : 9}; });
  CHECK((broken(b) == rule::passes_do_not_collide && broken(with_interval(b, 10)) != rule::none));
  CHECK(check(with_interval(b, 11)).ok());
}

TEST_CASE("long intervals are looked at as short ones are") {
  for (tick by = -3; by <= 3; ++by)
    for (int s = 0; s < 3; ++s)
      for (pass_kind kind : {F, I, W}) {
        block const b = delay(good(), {kind, s, 0}, by);
        diagnosis near = check(b), far = check(scale(b, 1'000'000));
        near.number = far.number = 0;
        CHECK(near == far);
      }
}

TEST_CASE("pairs that take too long for ticks") {
  costs c;
  c.passes.overlapped = max_tick / 12 + 1;
  CHECK(check(c, 3, 2, 4, 1).broken == rule::ticks_fit);
  c.passes.overlapped = max_tick / 12 - 1;
  CHECK(check(c, 3, 2, 4, 1).ok());
}

TEST_CASE("chunks of a sequence take one route") {
  stage_graph const graph = in_sequence_chunks(chain(stages{2}), 2);
  placement const where = overlay(linear(devices{2}), mirror(linear(devices{2})));
  CHECK(check_routes(graph, where, {0, 0, 1, 1}).ok());
  diagnosis const d = check_routes(graph, where, {0, 0, 1, 0});
  CHECK((d.broken == rule::micro_batches_take_a_route && d.number == 0));
  CHECK(check_routes(graph, where, {0, 1, 1, 1}).broken == rule::micro_batches_take_a_route);
  CHECK(check_routes(graph, where, {0, 0, 1}).broken == rule::micro_batches_fill_blocks);
  CHECK(check_routes(in_sequence_chunks(graph, 1), where, {0, 1, 1, 0}).ok());
}

TEST_CASE("speeds and links that are none") {
  auto const with = [](costs const& c) { return check(c, 3, 2, 4, 1); };
  costs c;
  c.on.speeds = {100};
  CHECK((with(c).broken == rule::tables_agree && with(c).number == 1));
  c.on.speeds = {100, 100, 100};
  CHECK((with(c).broken == rule::tables_agree && with(c).number == 3));
  c.on.speeds = {100, 0};
  CHECK((with(c).broken == rule::parameter_is_at_least && with(c).which == parameter::device_speed));
  CHECK((with(c).first.device == 1 && with(c).given == 0));
  c.on.speeds = {1, 1};
  c.passes.at(0).forward = max_tick / 50;  // so slow that nothing can be summed up
  CHECK(with(c).broken == rule::ticks_fit);
  c.passes.at(0).forward = 7;
  CHECK(with(c).ok());
  c.on.links.node_size = -1;
  CHECK((with(c).broken == rule::counts_are_positive && with(c).number == -1));
  c.on.links.node_size = 1;
  c.on.links.between = {.latency = -3};
  CHECK((with(c).broken == rule::no_duration_is_negative && with(c).first.code == opcode::send));
  c.on.links.between = {.latency = 3, .bandwidth = -2};
  CHECK((with(c).broken == rule::no_duration_is_negative && with(c).number == -2));
  c.on.links.between = {.latency = 3, .bandwidth = 1, .period = 0};
  CHECK((with(c).broken == rule::counts_are_positive && with(c).number == 0));
  CHECK(with(c).first.code == opcode::send);
  c.on.links.between.period = 1;
  auto const with_exception = [&](int from, int to) {
    c.on.links.exceptions = {{from, to, {}}};
    return with(c).broken;
  };
  CHECK((with_exception(0, 1) == rule::none && with_exception(1, 0) == rule::none));
  rule const leads = rule::transfers_lead_to_another_device;
  CHECK((with_exception(0, 2) == leads && with_exception(2, 0) == leads));
  CHECK((with_exception(-1, 0) == leads && with_exception(1, -1) == leads));
  CHECK((with_exception(1, 1) == leads && with(c).first.device == 1));
  c.on.links.exceptions.clear();
  c.message = max_tick / 2;
  CHECK(with(c).broken == rule::ticks_fit);
  c.message = -1;
  CHECK(with(c).broken == rule::sizes_fit);
}

}  // namespace

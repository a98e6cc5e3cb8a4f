#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace shapes;

namespace {

TEST_CASE("valid schedules") {
  CHECK((check(one_f_one_b(1, 1)).ok() && check(one_f_one_b(3, 4)).ok()));
  CHECK(check(fork_join() | repeat(micro_batches{3})).ok());
  CHECK(check(two_ways(3) | repeat(micro_batches{2}) | squeeze()).ok());
  CHECK(check(recomputed(3) | repeat(micro_batches{3})).ok());
  CHECK(check(with_work(one_f_one_b(2, 2))).ok());
  CHECK(check(shift(one_f_one_b(2, 2), -100)).ok());
}

TEST_CASE("sizes of a schedule") {
  CHECK(check(schedule{}).broken == rule::counts_are_positive);
  schedule s;
  s.route = {0};  // of a micro-batch, over no stage
  CHECK(check(s).broken == rule::counts_are_positive);
  s = one_f_one_b(3, 2);
  s.order.pop_back();
  CHECK(check(s).broken == rule::tables_agree);
  s = one_f_one_b(3, 2);
  s.graph = chain(stages{4});
  CHECK(check(s).broken == rule::tables_agree);
  s = one_f_one_b(3, 2);
  s.route[1] = 1;
  CHECK(check(s).broken == rule::micro_batches_take_a_route);
  s.route.clear();
  CHECK(check(s).broken == rule::counts_are_positive);
  s = one_f_one_b(3, 2);
  s.cost = costs(stage_cost{1, 1, -1});
  CHECK(check(s).broken == rule::no_duration_is_negative);
}

TEST_CASE("each pass of a schedule once, where it belongs") {
  schedule s = one_f_one_b(3, 2);
  time_slot const last = s.order[1].back();
  s.order[1].pop_back();
  diagnosis d = check(s);
  CHECK((d.broken == rule::every_pass_is_present && d.first.device == 1 && d.first.what == last.what));
  s.order[2].push_back({last.what, 100});
  d = check(s);
  CHECK((d.broken == rule::pass_is_on_its_device && d.first.device == 2 && d.second.device == 1));
  s = one_f_one_b(3, 2);
  s.order[1].push_back({last.what, 100});
  CHECK(check(s).broken == rule::no_pass_is_doubled);
  s.order[1].back().what.kind = W;
  CHECK(check(s).broken == rule::backward_is_fused_or_split);
  s.order[1].back().what = {F, 7, 0};
  CHECK(check(s).broken == rule::every_pass_is_known);
}

TEST_CASE("times of a schedule") {
  schedule s = one_f_one_b(2, 2);
  --s.order[1][2].start;  // meets the backward before it
  diagnosis d = check(s);
  CHECK((d.broken == rule::passes_do_not_collide && d.first.device == 1 && d.first.index == 2));
  CHECK((d.second.index == 1 && d.number == 1));
  s = one_f_one_b(2, 2);
  --s.order[0][2].start;  // a backward before its gradient
  d = check(s);
  CHECK((d.broken == rule::no_pass_starts_before_its_input && d.first.what == pass{B, 0, 0}));
  CHECK((d.second.what == pass{B, 1, 0} && d.second.device == 1));
  s = one_f_one_b(2, 2);
  s.cost.on.links.inside.latency = 1;
  CHECK(check(s).broken == rule::no_pass_starts_before_its_input);
  s = with_work(one_f_one_b(2, 2));
  s.order[0].back().start -= 1;
  CHECK(check(s).broken == rule::passes_do_not_collide);
}

// The fields may hold anything: with a cost for each stage, an unknown one has none.
TEST_CASE("stages that there are not") {
  schedule good = with_work(one_f_one_b(2, 2));
  good.cost.passes = std::vector<stage_cost>(2);
  CHECK(check(good).ok());
  schedule s = good;
  s.order[0].back().what = {X, 77, 0};
  CHECK((check(s).broken == rule::every_pass_is_known && check(s).first.device == 0));
  CHECK(check_passes(s).broken == rule::every_pass_is_known);
  s.order[0].back().what = {X, 0, 77};
  CHECK(check(s).broken == rule::every_pass_is_known);
  s = good;
  s.order[0].back().beside = {B, 0, 0};  // work beside a backward
  CHECK(check(s).broken == rule::overlapped_passes_are_a_pair);
  s = good;
  s.order[1][0].what.kind = static_cast<pass_kind>(6);
  CHECK(check(s).broken == rule::every_pass_is_known);
  s = good;  // a pair whose second is on no stage
  s.order[1][0].beside = {B, 77, 0};
  CHECK((check(s).broken == rule::every_pass_is_known && check(s).first.index == 0));
  CHECK(check(s).first.what == pass{B, 77, 0});
}

// One device does F0 F1, F2 beside B1, F3 beside B0, B3 B2: sequences in two chunks.
TEST_CASE("pairs of chunks that differ") {
  std::vector<pass> const order{{F, 0, 0}, {F, 0, 1}, {F, 0, 2}, {B, 0, 1},
                                {F, 0, 3}, {B, 0, 0}, {B, 0, 3}, {B, 0, 2}};
  schedule s = schedule_from_orders(linear(devices{1}), std::vector<int>(4, 0), {}, {order});
  for (std::size_t i : {2U, 3U}) pair_up(s, 0, i);
  s.graph = in_sequence_chunks(s.graph, 2);
  costs c(pass_costs::by_stage_and_sequence_chunk({{1, 2, 1}, {4, 5, 1}}, 2));
  c.passes.overlapped = 5;
  s = retime(s, c);
  CHECK(check(s).ok());
  CHECK(s.end_of(s.order[0].back(), 0) == 1 + 4 + 5 + 5 + 6 + 3);
  CHECK(s.order[0][3].start == 10);
  // Without a time of its own a pair takes as long as its passes, each of its own chunk.
  c.passes.overlapped = pass_costs::one_after_the_other;
  s = retime(s, c);
  CHECK(check(s).ok());
  CHECK(s.order[0][3].start == 1 + 4 + (1 + 6));
  CHECK(s.end_of(s.order[0].back(), 0) == 1 + 4 + (1 + 6) + (4 + 3) + 6 + 3);
}

TEST_CASE("passes that take no time stand in an order that has no cycle") {
  schedule const good = retime(one_f_one_b(2, 2), costs(stage_cost{0, 0, 0}));
  CHECK((check(good).ok() && good.order[1].back().start == 0));
  schedule s = good;
  std::swap(s.order[1][0], s.order[1][1]);  // at the same time, but the backward first
  CHECK(check(s).broken == rule::order_has_no_cycle);
  // If passes take time, their times say that already.
  s = one_f_one_b(2, 2);
  std::swap(s.order[1][0].what, s.order[1][1].what);
  CHECK(check(s).broken == rule::no_pass_starts_before_its_input);
}

TEST_CASE("a gradient that more is added to before it is taken, and where") {
  schedule s = one_f_one_b(1, 2);
  s.work = work_graph(
      {{.parts = {{0, 1}, {0, 1}}, .does = compute_job{.gradient = take_gradient{0}}},
       {.parts = {{0, 1}, {0, 1}},
        .does = compute_job{.state = own_state{}, .gradient = read_gradient{0}}},
       {.parts = {{0, 1}}, .does = compute_job{.state = shared_state{1}, .gradient = give_gradient{0}}}},
      {});
  for (pass const what : {pass{X, 0, 0}, pass{X, 0, 1}, pass{X, 1, 0}, pass{X, 1, 1}, pass{X, 2, 0}})
    s.order[0].push_back({what, 100 + static_cast<tick>(s.order[0].size())});
  diagnosis const d = check(s);
  CHECK(d.broken == rule::gradient_is_taken_before_more_is_added);
  CHECK((d.first.index == 3 && d.first.what == pass{B, 0, 1}));
  CHECK((d.second.index == 1 && d.second.what == pass{B, 0, 0}));
}

TEST_CASE("work once, on its device, after what it reads") {
  schedule const good = with_norm(one_f_one_b(2, 2));
  CHECK(check(good).ok());
  schedule s = good;  // doubled
  s.order[0].push_back({{X, 2, 0}, 100});
  CHECK((check(s).broken == rule::no_pass_is_doubled && check(s).first.what == pass{X, 2, 0}));
  s = good;  // left out
  s.order[1].pop_back();
  CHECK((check(s).broken == rule::every_pass_is_present && check(s).first.device == 1));
  CHECK(check(s).first.what == pass{X, 2, 1});
  s.order[0].push_back({{X, 2, 1}, 100});  // elsewhere
  CHECK((check(s).broken == rule::pass_is_on_its_device && check(s).second.device == 1));
  s = good;  // a sum follows by itself
  s.order[0].push_back({{X, 1, 0}, 100});
  CHECK(check(s).broken == rule::every_pass_is_known);
  s = good;  // a tick before its sum is there
  s.order[1].back().start -= 1;
  diagnosis d = check(s);
  CHECK((d.broken == rule::no_pass_starts_before_its_input && d.number == 1));
  CHECK((d.first.what == pass{X, 2, 1} && d.second.what.kind == X && d.second.what.stage == 0));
  s = one_f_one_b(2, 1);  // a pass before the work that it reads
  s.order[0].push_back({{X, 0, 0}, 100});
  s.work = work_graph({{.parts = {{0, 1}}}}, {{{X, 0, 0}, {B, 0, 0}}});
  d = check(s);
  CHECK((d.broken == rule::no_pass_starts_before_its_input && d.first.what == pass{B, 0, 0}));
  CHECK((d.second.what == pass{X, 0, 0} && d.second.device == 0));
}

TEST_CASE("times beyond the range of ticks") {
  schedule s = one_f_one_b(2, 2);
  for (tick wrong :
       {max_tick, -max_tick, std::numeric_limits<tick>::max(), std::numeric_limits<tick>::min()}) {
    s.order[1][0].start = wrong;
    CHECK(
        (check(s).broken == rule::ticks_fit && check(s).first.device == 1 && check(s).number == wrong));
  }
}

TEST_CASE("an import is checked without its times") {
  schedule s = one_f_one_b(2, 2);
  for (auto& order : s.order)
    for (time_slot& t : order) t.start = 0;
  CHECK((check_passes(s).ok() && !check(s).ok() && check(squeeze(s)).ok()));
  s.order[0].pop_back();
  CHECK(check_passes(s).broken == rule::every_pass_is_present);
}

}  // namespace

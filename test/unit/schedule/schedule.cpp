#include <ashlar/schedule/schedule.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

constexpr pass_kind F = pass_kind::forward, B = pass_kind::backward;

TEST_CASE("a schedule that has no passes yet") {
  schedule const s = schedule_without_passes(linear(devices{2}), {0}, costs(stage_cost{1, 2, 3}, 4));
  CHECK((s.device_count() == 2 && s.stage_count() == 2 && s.micro_batch_count() == 1));
  CHECK((s.graph == chain(stages{2}) && s.order[0].empty() && s.order[1].empty()));
  CHECK(s.end_of({{B, 1, 0}, 7}, 1) == 12);
  CHECK(s.device_of({B, 1, 0}) == 1);
  CHECK((s == schedule(s) && schedule{}.device_count() == 0));
}

TEST_CASE("a slot has one pass, or a forward and a backward that start and end together") {
  time_slot const alone{{B, 0, 1}, 4}, pair{{F, 0, 2}, 6, {B, 1, 0}};
  CHECK((!alone.is_pair() && alone.is_right() && pair.is_pair() && pair.is_right()));
  CHECK(!time_slot{{B, 0, 1}, 4, {B, 0, 2}}.is_right());
  CHECK(!time_slot{{F, 0, 1}, 4, {pass_kind::recompute, 0, 2}}.is_right());
  CHECK((alone.after(&alone.what) == nullptr && pair.after(&pair.beside) == nullptr));
  CHECK(pair.after(&pair.what) == &pair.beside);
  schedule s =
      schedule_without_passes(placement(devices{1}, {{0, 0}}), {0, 0, 0}, costs(stage_cost{2, 3, 4}));
  CHECK((s.end_of(alone, 0) == 4 + 7 && s.end_of(pair, 0) == 6 + 2 + 7));
  s.cost.passes.overlapped = 5;
  CHECK(s.end_of(pair, 0) == 6 + 5);
  CHECK(s.end_of(timed_pass{&pair, pair.beside, 6}, 0) == 6 + 5);
}

TEST_CASE("the passes of an order, with and without pairs") {
  std::vector<time_slot> const order{{{F, 0, 0}, 0}, {{F, 0, 1}, 1, {B, 0, 0}}, {{B, 0, 1}, 4}};
  std::vector<pass> const all{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}};
  std::vector<tick> const starts{0, 1, 1, 4};
  std::size_t at = 0;
  for (timed_pass const t : each_pass(order)) {
    CHECK((t.what == all[at] && t.start == starts[at]));
    CHECK(t.slot == &order[at < 2 ? at : at - 1]);
    ++at;
  }
  CHECK((at == all.size() && pass_count(order) == all.size()
         && pass_count(std::vector<time_slot>{}) == 0));
  std::vector<time_slot> const apart = without_pairs(order);
  REQUIRE(apart.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(apart[i] == time_slot{all[i], starts[i]});
}

}  // namespace

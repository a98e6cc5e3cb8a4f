#include <ashlar/schedule/tables.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fuse.hpp>
#include <ashlar/schedule/reorder.hpp>

#include <limits>
#include <utility>

using namespace shapes;

namespace {

// Somebody changed a schedule by hand: every transform refuses it, and says why.
template <class Change>
void each_refuses(rule expected, Change change, bool is_of_passes = false) {
  schedule s = one_f_one_b(2, 3);
  change(s);
  CHECK(violations::broken_by([&] { squeeze(s); }) == expected);
  CHECK(violations::broken_by([&] { retime(s, s.cost); }) == expected);
  CHECK(violations::broken_by([&] { reorder(s); }) == expected);
  CHECK(violations::broken_by([&] { reorder(s, reordering::throughout); }) == expected);
  CHECK(violations::broken_by([&] { recompute(s, {0}); }) == expected);
  CHECK(violations::broken_by([&] { split_backward(s); }) == expected);
  CHECK(violations::broken_by([&] { fuse_backward(s); }) == expected);
  CHECK(violations::broken_by([&] { fuse_where_free(s); }) == expected);
  CHECK(violations::broken_by([&] { then(s, s); }) == expected);
  CHECK(check_form(s).broken == expected);
  CHECK((is_of_passes || check_tables(s).broken == expected));
}

TEST_CASE("tables that do not go together are refused") {
  constexpr int huge = std::numeric_limits<int>::max();
  each_refuses(rule::tables_agree, [](schedule& s) { s.order.pop_back(); });
  each_refuses(rule::tables_agree, [](schedule& s) { s.order.clear(); });
  each_refuses(rule::tables_agree, [](schedule& s) { s.order.resize(3); });
  each_refuses(rule::tables_agree, [](schedule& s) { s.cost.passes = std::vector<stage_cost>(7); });
  each_refuses(rule::tables_agree, [](schedule& s) { s.cost.on.speeds = {100}; });
  each_refuses(rule::tables_agree, [](schedule& s) {
    s.cost.passes = pass_costs::by_stage_and_sequence_chunk({{}, {}}, 2);
  });
  each_refuses(rule::tables_agree, [](schedule& s) { s.graph = chain(stages{3}); });
  each_refuses(rule::tables_agree, [](schedule& s) { s.where = linear(devices{3}); });
  each_refuses(rule::micro_batches_take_a_route, [](schedule& s) { s.route[1] = 7; });
  each_refuses(rule::micro_batches_take_a_route, [](schedule& s) { s.route[1] = -1; });
  each_refuses(rule::micro_batches_fill_blocks,
               [](schedule& s) { s.graph = in_sequence_chunks(s.graph, 2); });
  for (int const speed : {0, -5, -huge})
    each_refuses(rule::parameter_is_at_least, [=](schedule& s) { s.cost.on.speeds = {100, speed}; });
  each_refuses(rule::no_duration_is_negative, [](schedule& s) { s.cost.on.links.inside.latency = -3; });
  each_refuses(rule::no_duration_is_negative,
               [](schedule& s) { s.cost.on.links.between.bandwidth = -1; });
  each_refuses(rule::no_duration_is_negative, [](schedule& s) { s.cost.passes.at(0).forward = -1; });
  each_refuses(rule::ticks_fit, [](schedule& s) { s.cost.passes.at(0).forward = max_tick / 2; });
  each_refuses(rule::sizes_fit, [](schedule& s) { s.cost.message = -1; });
}

TEST_CASE("passes that cannot be looked up are refused") {
  auto const with = [](rule expected, auto change) { each_refuses(expected, change, true); };
  with(rule::every_pass_is_known, [](schedule& s) { s.order[0][0].what.stage = 2; });
  with(rule::every_pass_is_known, [](schedule& s) { s.order[1][2].what.micro_batch = 3; });
  with(rule::every_pass_is_known, [](schedule& s) { s.order[1][2].what.micro_batch = -1; });
  with(rule::every_pass_is_known, [](schedule& s) { s.order[1][2].what.kind = X; });
  with(rule::every_pass_is_known,
       [](schedule& s) { s.order[1][2].what.kind = static_cast<pass_kind>(200); });
  with(rule::overlapped_passes_are_a_pair,
       [](schedule& s) { s.order[1][1].beside = s.order[1][1].what; });
}

TEST_CASE("a pass that is there twice is not timed") {
  schedule s = one_f_one_b(2, 2);
  s.order[0].push_back(s.order[0][0]);
  CHECK_BREAKS(no_pass_is_doubled, squeeze(s));
  CHECK_BREAKS(no_pass_is_doubled, reorder(s));
}

TEST_CASE("starts beyond the range of ticks") {
  for (tick const wrong : {INT64_MIN, INT64_MAX, max_tick, -max_tick}) {
    schedule s = one_f_one_b(2, 2);
    s.order[1][1].start = wrong;
    CHECK(squeeze(s) == one_f_one_b(2, 2));  // does not ask for them
    CHECK(check_form(s).broken == rule::ticks_fit);
    CHECK_BREAKS(ticks_fit, reorder(s));
    CHECK_BREAKS(ticks_fit, shift(s, 1));
    CHECK_BREAKS(ticks_fit, then(s, s));
    CHECK_BREAKS(ticks_fit, shift(one_f_one_b(2, 2), wrong));
  }
}

// Without its input pass a weight pass would be lost on the way.
TEST_CASE("reorder keeps every pass, or refuses") {
  schedule s = split_backward(one_f_one_b(2, 3));
  std::vector<time_slot>& order = s.order[1];
  for (std::size_t i = order.size(); i-- > 0;)
    if (order[i].what == pass{I, 1, 2}) order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
  CHECK_BREAKS(every_pass_is_present, reorder(s));
}

}  // namespace

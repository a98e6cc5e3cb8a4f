#include <ashlar/schedule/reorder.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>

#include <algorithm>

using namespace shapes;

namespace {

// The paper's pipeline: 48 ticks of work and 5 idle ones, which is the least for 6 chunk activations.
TEST_CASE("V-Half at 4 devices and 8 micro-batches") {
  schedule const s = catalog::v_half(devices{4}) | repeat(micro_batches{8});
  schedule const r = s | reorder();
  CHECK(check(r).ok());
  CHECK((makespan(s | squeeze()) == 60 && makespan(r) == 53 && span(r) == 53));
  CHECK(peak_of_all(r) == 6);
}

// Two micro-batches one after the other on one device, three ticks apart.
constexpr schedule with_a_gap(pass_kind second, tick start) {
  schedule s = schedule_from_orders(linear(devices{1}), {0, 0}, {},
                                    {{{F, 0, 0}, {I, 0, 0}, {W, 0, 0}, {second, 0, 1}}});
  tick const starts[] = {0, 4, 5, start};
  for (std::size_t i = 0; i < 4; ++i) s.order[0][i].start = starts[i];
  return s;
}

// These show by hand where a pass may go, and where not.
TEST_CASE("to the first gap that is long enough") {
  auto const moved = [](schedule s) {
    gap_filler(s).run(reordering::throughout);
    return s;
  };
  // I and W move up to the end of F; the other forward, which would hold a second activation, follows.
  schedule r = moved(with_a_gap(F, 9));
  CHECK((r.order[0][1].what == pass{I, 0, 0} && r.order[0][1].start == 1));
  CHECK((r.order[0][3].what == pass{F, 0, 1} && r.order[0][3].start == 3));

  // If two are held later anyway, it goes to the first gap.
  schedule two = with_a_gap(F, 3);
  two.order[0] = {{{F, 0, 0}, 0}, {{F, 0, 1}, 3}, {{I, 0, 0}, 4}, {{W, 0, 0}, 5}};
  CHECK(moved(two).order[0][1].start == 1);

  // A gap of one tick is too short for a pass of two.
  schedule longer = with_a_gap(F, 3);
  longer.cost = costs(stage_cost{1, 2, 1});
  longer.order[0] = {{{F, 0, 0}, 0}, {{F, 0, 1}, 2}, {{I, 0, 0}, 3}, {{W, 0, 0}, 5}};
  r = moved(longer);
  CHECK((r.order[0][1].what == pass{F, 0, 1} && r.order[0][2].start == 2));

  // An input that no device makes is not waited for, nor is its transfer.
  schedule alone =
      schedule_from_orders(linear(devices{2}), {0}, costs(stage_cost{1, 1, 1}, 5), {{}, {{F, 1, 0}}});
  alone.order[1][0].start = 20;
  CHECK(moved(alone).order[1][0].start == 0);

  // It does not go before the pass that makes its input, though both take no time.
  schedule instants = schedule_from_orders(looped(devices{1}, chunks{2}), {0},
                                           costs({{0, 1, 1}, {0, 1, 1}}), {{{F, 0, 0}, {F, 1, 0}}});
  instants.order[0][0].start = 1;
  instants.order[0][1].start = 4;
  r = moved(instants);
  CHECK((r.order[0][0].what == pass{F, 0, 0} && r.order[0][1].start == r.order[0][0].start));

  // It does not go before a pass of its own stage and kind, though its input comes first.
  schedule s = schedule_from_orders(
      linear(devices{2}), {0, 0}, {},
      {{{F, 0, 1}, {F, 0, 0}, {B, 0, 0}, {B, 0, 1}}, {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}});
  s = squeeze(s);
  CHECK((s.order[1][0].start == 2 && moved(s).order[1] == s.order[1]));
}

TEST_CASE("the last forward that comes in is of the steady state") {
  schedule s = with_a_gap(F, 9);
  gap_filler(s).run(reordering::at_ends);
  CHECK((s.order[0][3].what == pass{F, 0, 1} && s.order[0][3].start == 9));
}

TEST_CASE("never longer, never more memory, valid; often shorter") {
  int better = 0;
  for (auto of : {catalog::v_min, catalog::v_half, catalog::v_zb, catalog::one_f_one_b_v, catalog::zb_h1,
                  catalog::one_f_one_b})
    for (int p = 2; p <= 8; ++p)
      for (costs const& c : {costs{}, costs(stage_cost{10, 13, 7}, 1), costs(stage_cost{2, 5, 3})})
        for (reordering which : {reordering::at_ends, reordering::throughout}) {
          CAPTURE(p);
          schedule const s = of(devices{p}) | repeat(micro_batches{3 * p}) | retime(c);
          schedule const r = reorder(s, which);
          CHECK(check(r).ok());
          CHECK(squeeze(r) == r);
          CHECK(makespan(r) <= makespan(s));
          CHECK(span(r) <= span(s));
          CHECK(peak_of_all(r) <= peak_of_all(s));
          better += span(r) < span(s) ? 1 : 0;
        }
  CHECK(better > 60);
}

TEST_CASE("what starts in the steady state keeps its order") {
  for (auto of : {catalog::v_min, catalog::v_half, catalog::v_zb})
    for (int p : {3, 4, 6}) {
      CAPTURE(p);
      schedule const s = of(devices{p}) | repeat(micro_batches{4 * p});
      schedule const r = s | reorder();
      tick through = max_tick, last_in = 0;
      for (timed_pass const t : each_pass(s.order[0])) {
        if (t.what == pass{I, 0, 0}) through = t.start;
        if (t.what == pass{F, 0, 4 * p - 1}) last_in = t.start;
      }
      for (std::size_t d = 0; d < s.order.size(); ++d) {
        std::vector<pass> steady, kept;
        for (timed_pass const t : each_pass(s.order[d]))
          if (t.start >= through && t.start <= last_in) steady.push_back(t.what);
        for (timed_pass const t : each_pass(r.order[d]))
          if (std::find(steady.begin(), steady.end(), t.what) != steady.end()) kept.push_back(t.what);
        CHECK(kept == steady);
        CHECK(!steady.empty());
      }
    }
}

TEST_CASE("recomputes stay after what they stood after") {
  schedule const s = recomputed(3) | repeat(micro_batches{6}) | squeeze();
  schedule const r = s | reorder(reordering::throughout);
  CHECK(check(r).ok());
  CHECK(makespan(r) <= makespan(s));
}

TEST_CASE("what cannot be reordered") {
  schedule const s = one_f_one_b(2, 2);
  schedule pair = s;
  pair_up(pair, 0, 1);
  CHECK_BREAKS(overlapped_passes_are_a_pair, reorder(pair));
  CHECK_BREAKS(every_pass_is_known, reorder(with_work(s)));
  schedule unknown = s;
  unknown.order[0][0].what.stage = 2;
  CHECK_BREAKS(every_pass_is_known, reorder(unknown));
}

}  // namespace

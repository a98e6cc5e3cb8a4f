#include <ashlar/lower/transfer_events.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"

using namespace shapes;

namespace {

constexpr bool test_few_transfers() {
  auto const e = events_in_order(one_f_one_b(2, 2));
  HOLDS(e.size() == 6);
  HOLDS(e[0] == event{1, {F, 0, 0}, 1, 0, 1});
  HOLDS(e[1] == event{2, {F, 0, 1}, 1, 0, 1});
  HOLDS(e[2] == event{4, {B, 1, 0}, 0, 1, 0});
  HOLDS(e[3] == event{7, {B, 1, 1}, 0, 1, 0});
  HOLDS(e[4].is_reduction() && e[4].time == 7 && e[4].group == 1);
  HOLDS(e[5].is_reduction() && e[5].time == 9 && e[5].group == 0);
  return true;
}
BOTH_TIMES("in the order in which the producers end", test_few_transfers)

constexpr bool test_tied_transfers() {
  // Of one end time: gradients, then activations, then reductions.
  auto const e = events_in_order(catalog::zb_h1(devices{4}) | repeat(micro_batches{4}));
  auto const rank = [](event const& x) { return x.is_reduction() ? 2 : x.what.kind == F ? 1 : 0; };
  for (std::size_t i = 1; i < e.size(); ++i) {
    HOLDS(e[i - 1].time <= e[i].time);
    HOLDS(e[i - 1].time < e[i].time || rank(e[i - 1]) <= rank(e[i]));
  }
  return true;
}
BOTH_TIMES("ties have an order too", test_tied_transfers)

constexpr bool test_local() {
  schedule const s = catalog::find("v-half")->make({.p = devices{2}, .m = micro_batches{1}});
  int between = 0;
  for (event const& e : events_in_order(s)) {
    if (e.is_reduction()) continue;
    HOLDS(e.source != e.target);
    ++between;
  }
  HOLDS(between == 4);  // stages 1 and 2 are on one device
  HOLDS(events_in_order(one_f_one_b(1, 3)).size() == 1);
  return true;
}
BOTH_TIMES("hand-overs within a device are no events", test_local)

TEST_CASE("long times are ordered as short ones are") {
  for (int p = 1; p <= 8; ++p)
    for (char const* name : {"gpipe", "zb-h1", "v-half"}) {
      catalog::shape const shape{devices{p}, micro_batches{6}};
      tick const factor = 1'000'003;
      block const b = catalog::find(name)->block_of(shape);
      auto near = events_in_order(b | repeat(shape.m) | squeeze());
      auto const far = events_in_order(scale(b, factor) | repeat(shape.m) | squeeze());
      for (event& e : near) e.time *= factor;
      CHECK(near == far);
    }
}

}  // namespace

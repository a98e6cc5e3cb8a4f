#include <ashlar/study/schedule_slack.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/study/compare.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace shapes;

namespace {

tick makespan_of(schedule const& s, int from, int to, tick by) {
  costs cost = s.cost;
  delay_link(cost.on.links, from, to, by);
  return makespan(retime(s, cost));
}

int transfers_of(std::vector<link_slack> const& links) {
  int sum = 0;
  for (link_slack const& l : links) sum += l.transfers;
  return sum;
}

// Being so much later changes nothing, and one tick more does.
void is_exact(schedule const& s) {
  tick const whole = makespan(squeeze(s));
  std::vector<link_slack> const links = link_slacks(s);
  for (std::size_t i = 0; i < links.size(); ++i) {
    link_slack const& l = links[i];
    CAPTURE(l.from);
    CAPTURE(l.to);
    CHECK(makespan_of(s, l.from, l.to, l.slack) == whole);
    CHECK(makespan_of(s, l.from, l.to, l.slack + 1) > whole);
    if (i > 0)
      CHECK((links[i - 1].from < l.from || (links[i - 1].from == l.from && links[i - 1].to < l.to)));
  }
}

TEST_CASE("slack of a schedule: exact on every link of the catalog") {
  for (catalog::entry const& e : catalog::entries)
    for (costs const& cost : {costs(), costs(stage_cost{4, 5, 3}, 2), costs(stage_cost{7, 3, 0}, 1)}) {
      catalog::shape const shape{.p = devices{4}, .m = micro_batches{8}, .cost = cost};
      if (!e.check(shape).ok()) continue;
      CAPTURE(std::string(e.name));
      schedule const s = e.make(shape);
      is_exact(s);
    }
  CHECK(transfers_of(link_slacks(one_f_one_b(4, 8))) == 2 * 3 * 8);
}

TEST_CASE("slack of a schedule: exact on orders of no formula, and where links differ") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    schedule s = conformance::random_schedule(seed);
    CAPTURE(seed);
    is_exact(s);
    if (s.device_count() < 2) continue;
    delay_link(s.cost.on.links, 0, 1, static_cast<tick>(seed % 7));
    is_exact(s);
  }
}

TEST_CASE("slack of a schedule: one device has no links, and what is no schedule is refused") {
  CHECK(link_slacks(one_f_one_b(1, 3)).empty());
  schedule none = one_f_one_b(2, 2);
  std::swap(none.order[0][0], none.order[0].back());
  CHECK_BREAKS(order_has_no_cycle, link_slacks(none));
}

// Stages of half the model count in ticks of half the length.
TEST_CASE("slack of a schedule, in ticks of the model that is compared") {
  catalog::entry const& e = *catalog::find("zb-h2");
  comparison const c =
      compare(e, {.p = devices{4}, .m = micro_batches{8}, .cost = costs(stage_cost{8, 8, 8}, 1)});
  std::vector<link_slack> const links = link_slacks(
      e.make({.p = devices{4}, .m = micro_batches{8}, .cost = costs(stage_cost{8, 8, 8}, 1)}));
  REQUIRE(c.links.size() == links.size());
  for (std::size_t i = 0; i < links.size(); ++i)
    CHECK(c.links[i]
          == compared_link{links[i].from, links[i].to, links[i].transfers,
                           static_cast<double>(links[i].slack)});
  catalog::entry const& half = *catalog::find("v-half");
  comparison const halves =
      compare(half, {.p = devices{4}, .m = micro_batches{8}, .cost = costs(stage_cost{9, 9, 9}, 1)});
  std::vector<link_slack> const finer = link_slacks(
      half.make({.p = devices{4}, .m = micro_batches{8}, .cost = costs(stage_cost{9, 9, 9}, 2)}));
  REQUIRE(halves.links.size() == finer.size());
  for (std::size_t i = 0; i < finer.size(); ++i)
    CHECK(2 * halves.links[i].slack == static_cast<double>(finer[i].slack));
}

}  // namespace

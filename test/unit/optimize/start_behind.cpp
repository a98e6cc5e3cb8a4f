#include <ashlar/optimize/start_behind.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

schedule scheduled(char const* name, int p, int m, costs const& each) {
  return catalog::find(name)->make({devices{p}, micro_batches{m}, each});
}

TEST_CASE("a training step fills while log-probabilities drain: no device idles between") {
  costs const each(stage_cost{3, 4, 2});
  for (int p : {1, 2, 4})
    for (char const* const name : {"1f1b", "zb-h1", "gpipe"}) {
      CAPTURE(p);
      CAPTURE(name);
      schedule const scores = scheduled("inference", p, 6, each), step = scheduled(name, p, 8, each);
      schedule const behind = start_behind(step, scores);
      CHECK(makespan(behind) == makespan(scores) + makespan(step) - 3 * (p - 1));
      CHECK(check(behind).ok());
      for (int d = 0; d < p; ++d) {
        auto const i = static_cast<std::size_t>(d);
        CHECK(behind.order[i].front().start == scores.end_of(scores.order[i].back(), d));
      }
      CHECK(squeeze(behind) == step);
    }
}

// Two schedules of one kind can also become one.
TEST_CASE("behind a schedule of the same kind, passes start as in one schedule of both") {
  costs const each({10, 13, 7}, 2);
  schedule const a = scheduled("v-half", 4, 6, each), b = scheduled("v-zb", 4, 5, each);
  schedule const both = squeeze(then(a, b));
  CHECK(makespan(start_behind(b, a)) == makespan(both));
  CHECK(start_behind(b, a).mode == b.mode);
}

TEST_CASE("what cannot come behind") {
  costs const each(stage_cost{3, 4, 2});
  schedule const step = scheduled("1f1b", 2, 4, each);
  CHECK_BREAKS(tables_agree, start_behind(step, scheduled("1f1b", 3, 4, each)));
  CHECK_BREAKS(overlapped_passes_are_a_pair, start_behind(scheduled("dualpipev", 2, 4, each), step));
  CHECK(makespan(start_behind(step, scheduled("dualpipev", 2, 4, each)))
        >= makespan(scheduled("dualpipev", 2, 4, each)));
}

}  // namespace

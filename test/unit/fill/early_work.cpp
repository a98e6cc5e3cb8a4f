#include <ashlar/fill/early_work.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/fill/fill.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("published counts take another route's passes for their own") {
  // There are two routes: on device 0 micro-batch 1 goes forward late, but its work counts that of
  // micro-batch 0.
  schedule const s = repeat(two_ways(2), micro_batches{2}) | retime(costs(stage_cost{}, 5));
  CHECK(start_of(s, {F, 1, 1}) == 6);
  work_graph const work({{.parts = {{0, 1}}}}, {{{F, 1, 1}, {X, 0, 0}}});
  fill_options o{.policy = fill_policy::first_fit};
  CHECK(early_work(fill(s, work, o)).empty());
  o.ready = fill_readiness::published_counts;
  std::vector<diagnosis> const early = early_work(fill(s, work, o));
  CHECK((early.size() == 1 && early[0].first.what == pass{X, 0, 0}
         && early[0].second.what == pass{F, 1, 1}));
  // Device 1 has nothing of route 0 before micro-batch 0: work waits for it.
  work_graph const other({{.parts = {{1, 1}}}}, {{{F, 1, 0}, {X, 0, 0}}});
  CHECK(early_work(fill(s, other, o)).empty());
}

}  // namespace

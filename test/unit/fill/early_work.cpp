#include <ashlar/fill/early_work.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/fill/fill.hpp>

using namespace shapes;

namespace {

constexpr bool test_published_counts() {
  // Two routes: on device 0 micro-batch 1 goes forward late, but its work counts that of micro-batch 0.
  schedule const s = repeat(two_ways(2), micro_batches{2}) | retime(costs(stage_cost{}, 5));
  HOLDS(start_of(s, {F, 1, 1}) == 6);
  work_graph const work({{.parts = {{0, 1}}}}, {{{F, 1, 1}, {X, 0, 0}}});
  fill_options o{.policy = fill_policy::first_fit};
  HOLDS(early_work(fill(s, work, o)).empty());
  o.ready = fill_readiness::published_counts;
  std::vector<diagnosis> const early = early_work(fill(s, work, o));
  HOLDS(early.size() == 1 && early[0].first.what == pass{X, 0, 0}
        && early[0].second.what == pass{F, 1, 1});
  // On device 1 none of route 0 has been before that of micro-batch 0: work waits for it.
  work_graph const other({{.parts = {{1, 1}}}}, {{{F, 1, 0}, {X, 0, 0}}});
  HOLDS(early_work(fill(s, other, o)).empty());
  return true;
}
BOTH_TIMES("published counts take another route's passes for their own", test_published_counts)

}  // namespace

#include <ashlar/optimize/disjunctive_graph.hpp>
// The header above comes first: it needs nothing before it.
#include "moved_passes.hpp"
#include "random_cases.hpp"
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("heads are the earliest starts") {
  schedule const s = catalog::zb_h1(devices{2}) | repeat(micro_batches{3})
                     | retime(costs(stage_cost{3, 4, 2}, 1)) | squeeze();
  list_scheduler scheduler(s, chunk_activations(2));
  list_scheduler::solution t;
  CHECK(scheduler.run(scheduler.passes().orders, {}, {}, t));
  disjunctive_graph graph(scheduler.passes(), s);
  graph.set(t, {0, 0});
  CHECK((graph.longest() == makespan(s) && graph.orders() == t.orders && graph.visits() == 36));
  for (std::size_t x = 0; x < t.start.size(); ++x) {
    int const i = static_cast<int>(x);
    CHECK(graph.head_of(i) == t.start[x]);
    CHECK(graph.head_of(i) + graph.rest_of(i) <= graph.longest());
    CHECK(graph.orders()[graph.device_of(i)][graph.position_of(i)] == i);
  }
  graph.set(t, {0, 4});  // when the first input arrives
  CHECK(graph.longest() == makespan(s));
  graph.set(t, {0, 100});
  CHECK((graph.head_of(t.orders[1][0]) == 100 && graph.released(1) == 100));
}

// The longest time from the start of each pass to the end of a device, which counts from its release:
// found by looking at all passes again and again.
std::vector<tick> plain_rests(moved_passes::example const& e,
                              precedence_graph::device_orders const& orders) {
  precedence_graph const& passes = e.passes();
  std::vector<tick> rest(passes.what.size(), -max_tick);
  for (bool changes = true; changes;) {
    changes = false;
    auto const reach = [&](int x, tick more) {
      auto const i = static_cast<std::size_t>(x);
      changes = changes || more + passes.length[i] > rest[i];
      rest[i] = std::max(rest[i], more + passes.length[i]);
    };
    for (std::size_t d = 0; d < orders.size(); ++d)
      for (std::size_t i = 0; i < orders[d].size(); ++i)
        reach(orders[d][i], i + 1 == orders[d].size()
                                ? -e.released[d]
                                : rest[static_cast<std::size_t>(orders[d][i + 1])]);
    for (std::size_t x = 0; x < passes.what.size(); ++x)
      for (int const y : passes.needs[x]) reach(y, rest[x] + e.delay(y, static_cast<int>(x)));
  }
  return rest;
}

TEST_CASE("after passes have changed places, all paths are as if they had always been there") {
  int changes = 0;
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(60))) {
    CAPTURE(seed);
    moved_passes::example e(d);
    disjunctive_graph graph(e.passes(), e.of);
    graph.set(e.first, e.released);
    for (int change = 0; change < 20; ++change) {
      auto const [device, first, last, is_later] = moved_passes::any_move(d, graph.orders());
      precedence_graph::device_orders const orders =
          moved_passes::moved(graph.orders(), {device, first, last, is_later});
      list_scheduler::solution expected;
      if (!e.scheduler.run(orders, {}, e.released, expected)) continue;  // circular
      ++changes;
      graph.replace(device, first,
                    {orders[device].begin() + static_cast<std::ptrdiff_t>(first),
                     orders[device].begin() + static_cast<std::ptrdiff_t>(last) + 1});
      CHECK(graph.orders() == orders);
      std::vector<tick> const rests = plain_rests(e, orders);
      tick longest = 0;
      for (std::size_t x = 0; x < rests.size(); ++x) {
        int const i = static_cast<int>(x);
        REQUIRE(graph.head_of(i) == expected.start[x]);
        REQUIRE(graph.rest_of(i) == rests[x]);
        longest = std::max(longest, expected.start[x] + rests[x]);
      }
      CHECK(graph.longest() == longest);

      std::vector<int> path;
      graph.critical_path(
          [&](std::size_t n) { return static_cast<std::size_t>(d.between(1, static_cast<int>(n)) - 1); },
          path);
      REQUIRE(!path.empty());
      CHECK(graph.head_of(path.front()) + graph.rest_of(path.front()) == longest);
      CHECK(graph.end_of(path.back()) - graph.released(graph.device_of(path.back())) == longest);
      // Nothing else lets the first one start when it does.
      std::size_t const at = graph.position_of(path.front());
      if (at > 0)
        CHECK(graph.end_of(orders[graph.device_of(path.front())][at - 1]) < graph.head_of(path.front()));
      CHECK((graph.input_time(path.front()) < graph.head_of(path.front())
             || graph.needs_of(path.front()).begin() == graph.needs_of(path.front()).end()));
      for (std::size_t i = 1; i < path.size(); ++i) {
        int const a = path[i - 1], b = path[i];
        bool const are_neighbours =
            graph.device_of(a) == graph.device_of(b) && graph.position_of(a) + 1 == graph.position_of(b);
        CHECK(graph.head_of(b) == graph.end_of(a) + (are_neighbours ? 0 : e.delay(a, b)));
      }
    }
  }
  CHECK(changes > random_cases(300));
}

}  // namespace

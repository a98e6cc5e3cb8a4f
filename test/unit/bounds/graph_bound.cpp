#include "random_cases.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/conformance/random_schedule.hpp>

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("paths and work bound a graph") {
  // The last stage comes after a branch of two and a branch of one.
  stage_graph const graph(stages{4}, {{0, 1}, {1, 3}, {2, 3}});
  schedule const s =
      catalog::one_f_one_b(graph, linear(devices{4}), micro_batches{6}, costs(stage_cost{1, 1, 1}, 1));
  path_bound const b = graph_bound(s);
  // Device 3 waits for two forwards and two transfers, and is followed by as much and two more.
  CHECK((b.work == 18 && b.span == 18 && b.makespan == 18 + 2 * (1 + 1) + 2 * (2 + 1)));
  CHECK(schedule_bound(s)->makespan_by == binding_constraint::dependencies);
  CHECK(schedule_bound(s)->span_by == binding_constraint::work);
  schedule const one =
      catalog::one_f_one_b(graph, linear(devices{4}), micro_batches{1}, costs(stage_cost{1, 1, 1}, 1));
  CHECK((graph_bound(one).span == 3 + 3 + 3 + 4 && graph_bound(one).makespan == makespan(one)));
}

TEST_CASE("larger micro-batches wait for several") {
  stage_graph const graph = in_micro_batches(chain(stages{2}), {1, 4});
  schedule const s = catalog::one_f_one_b(graph, linear(devices{2}), micro_batches{4});
  CHECK(graph_bound(s).makespan == 4 + 3 + 4 * 2);
  CHECK(makespan(s) == 4 + 3 + 4 * 2);
}

TEST_CASE("no schedule of a graph is below its bound, and paths alone are below those of chains") {
  for (int seed = 1; seed <= random_cases(300); ++seed) {
    CAPTURE(seed);
    schedule const s = conformance::random_graph_schedule(static_cast<std::uint64_t>(seed));
    CHECK(graph_bound(s).makespan <= makespan(s));
    CHECK(graph_bound(s).span <= span(s));
    CHECK(schedule_bound(s).has_value());
    schedule const line = conformance::random_schedule(static_cast<std::uint64_t>(seed));
    CHECK(graph_bound(line).makespan <= schedule_bound(line)->makespan);
    CHECK(graph_bound(line).span <= schedule_bound(line)->span);
  }
}

}  // namespace

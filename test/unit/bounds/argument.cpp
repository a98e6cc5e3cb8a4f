#include "catalog_cases.hpp"
#include <ashlar/bounds/argument.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("each bound of the catalog has an argument, and nothing higher has one") {
  int certain = 0;
  for (catalog_case const& c : catalog_cases({2, 3}, {4, 7}, costs(stage_cost{2, 3, 1}, 1))) {
    CAPTURE(c);
    schedule const s = c.schedule();
    auto const b = schedule_bound(s);
    if (!b) continue;
    auto const argument = [&](tick least, bool is_span) {
      return has_workload(s) ? argument_of(workload_of(s), least, is_span)
                             : argument_of(s, least, is_span);
    };
    CHECK(argument(b->makespan, false).has_value());
    CHECK(argument(b->span, true).has_value());
    CHECK(!argument(b->makespan + 1, false));
    CHECK(!argument(b->span + 1, true));
    ++certain;
  }
  CHECK(certain > 40);
}

TEST_CASE("the argument is the first that says as much") {
  workload w = workload_of(catalog::one_f_one_b(devices{3}) | repeat(micro_batches{6}) | squeeze());
  CHECK(argument_of(w, 18, true) == bound_argument{argument_kind::work, 0});
  CHECK(argument_of(w, 24, false)->by == argument_kind::one_machine);
  w.overlaps = true;
  CHECK(!argument_of(w, 18, true));
}

TEST_CASE("where one micro-batch takes long, its own way is the argument") {
  auto const c =
      pass_costs::by_stage_and_micro_batch({{1, 1, 1}, {50, 50, 1}, {1, 1, 1}, {50, 50, 1}}, 2);
  schedule s = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze();
  s.cost.passes = c;
  workload const w = workload_of(squeeze(s));
  bound const b = workload_bound(w);
  auto const why = argument_of(w, b.span, true);
  REQUIRE(why.has_value());
  CHECK(why->by == argument_kind::path);
  CHECK(why->device == 0);
  CHECK(why->from == pass{pass_kind::forward, 0, 1});
}

TEST_CASE("arguments of a graph are its work, a path from a pass, and a path from the start") {
  schedule const s =
      catalog::vocabulary_one_f_one_b(devices{4}, micro_batches{4}, shard_gradient::of_backward);
  path_bound const b = graph_bound(s);
  CHECK(argument_of(s, b.work, true)->by == argument_kind::work);
  CHECK(argument_of(s, b.makespan, false)->by == argument_kind::path);
  CHECK(!argument_of(s, b.makespan + 1, false));
}

}  // namespace

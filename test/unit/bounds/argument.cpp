#include "catalog_cases.hpp"
#include <ashlar/bounds/argument.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
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
    if (!has_workload(s) || s.graph.sequence_chunks() > 1) continue;
    workload const w = workload_of(s);
    bound const b = workload_bound(w);
    CHECK(argument_of(w, b.makespan, false).has_value());
    CHECK(argument_of(w, b.span, true).has_value());
    CHECK(!argument_of(w, b.makespan + 1, false));
    CHECK(!argument_of(w, b.span + 1, true));
    ++certain;
  }
  CHECK(certain > 40);
}

TEST_CASE("the argument is the first that says as much") {
  workload w = workload_of(catalog::one_f_one_b(devices{3}) | repeat(micro_batches{6}) | squeeze());
  CHECK(argument_of(w, 18, true) == bound_argument{argument_kind::work, 0});
  CHECK(argument_of(w, 24, false)->by == argument_kind::one_machine);
  w.sequence_chunks = 2;
  CHECK(!argument_of(w, 18, true));
}

}  // namespace

#include <ashlar/bounds/closed_forms.hpp>
// The header above comes first: it needs nothing before it.
#include "workloads.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("closed forms") {
  for (int p : {2, 5, 8})
    for (int limit = 2; limit <= 2 * p; ++limit) {
      uniform_workload const u{devices{p}, micro_batches{3 * p}, {}, 0, limit};
      int const idle = 6 * p - 1 - 3 * limit;
      CHECK(v_shape_bound(u) == 18 * p + (idle > 0 ? idle : 0));
    }
  uniform_workload const u{devices{8}, micro_batches{64}, {20, 26, 14}, 1, 7};
  CHECK(linear_bound(u) == 64 * 60 + 15 * 46 + 14 + 28 - 7 * 60);
  CHECK(deferred_weights_bound(u) == 64 * 60 + 7 * 48 - 6 * 14);
  // With two micro-batches no more than one weight pass can be put off.
  CHECK(deferred_weights_bound({devices{4}, micro_batches{2}, {}}) == 2 * 3 + 3 * 2 - 1);
  CHECK(warm_up_bound({devices{2}, micro_batches{4}, {2, 3, 4}, 1, 3}) == 2 * 4 * 9 + 11 - 6);
  CHECK(warm_up_bound({devices{2}, micro_batches{4}, {2, 3, 4}, 1}) == 2 * 4 * 9);
  // ZB-H1 has p: (p - 1) (f + b - w).
  CHECK(linear_bound({devices{4}, micro_batches{9}, {5, 6, 3}, 0, 4}) == 9 * 14 + 3 * 8);
}

TEST_CASE("activations times lifespans") {
  workload const w = on_chain(3, 5, 2, {5, 4, 3}, 2);
  CHECK((shortest_lifespan(w, 0) == 3 * 9 + 4 * 2 + 3 && shortest_lifespan(w, 2) == 12));
  CHECK(area_bound(w) == 95);             // 5 * 38 / 2
  CHECK(area_bound(on_v(2, 3, 4)) == 9);  // 3 * (9 + 3) / 4
  CHECK((busiest_work(w) == 5 * 12 && busiest_work(on_v(2, 3, 4)) == 18));
}

// A recompute adds to its device's work, and to the lifespan of its stage unless the stages after it
// take longer.
TEST_CASE("recomputes in the closed forms") {
  workload w = on_chain(2, 3, 2, {5, 4, 3, 7}, 2);
  w.limit.memory.stages = {{.stash = 1}, {.checkpoint = 0, .stash = 1}};
  CHECK(busiest_work(w) == 3 * (12 + 7));
  CHECK(shortest_lifespan(w, 1) == 5 + 7 + 7);        // nothing after it: 0 < 7
  CHECK(shortest_lifespan(w, 0) == 5 + (9 + 4) + 7);  // recomputes nothing
  w.limit.memory.stages = {{.checkpoint = 0, .stash = 1}, {.stash = 1}};
  CHECK(busiest_work(w) == 3 * (12 + 7));
  CHECK(shortest_lifespan(w, 0) == 5 + (9 + 4) + 7);  // 13 > 7: meanwhile
  CHECK(shortest_lifespan(w, 1) == 5 + 7);
  w.mode = execution_mode::inference;
  CHECK(busiest_work(w) == 3 * 5);
}

}  // namespace

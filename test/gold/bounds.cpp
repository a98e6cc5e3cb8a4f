// Compares lower bounds with values that are known to be reached, with closed forms, and with results of
// the best public schedulers.
#include "known_bubbles.hpp"
#include "random_cases.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

using times = std::array<tick, 4>;  // forward, backward_input, backward_weight, transfer

workload with(placement where, int m, times t, std::vector<int> const& limits) {
  return {.where = std::move(where),
          .micro_batch_count = m,
          .cost = costs(stage_cost{t[0], t[1], t[2]}, t[3]),
          .limit = chunk_activations({limits.begin(), limits.end()})};
}

uniform_workload uniform(int p, int m, times t, int limit) {
  return {devices{p}, micro_batches{m}, {t[0], t[1], t[2]}, t[3], limit};
}

TEST_CASE("between what is proved and what is reached") {
  for (known_bubbles::known const& k : known_bubbles::table) {
    CAPTURE(k.p);
    CAPTURE(k.m);
    CAPTURE(k.limit);
    CAPTURE(k.cost[0]);
    double const rate = k.rate(workload_bound(k.work()).span);
    CHECK(rate >= k.least - known_bubbles::rounding);
    CHECK(rate <= k.reached + known_bubbles::rounding);
  }
}

TEST_CASE("unit passes on a V: 6p - 1 - 3M idle ticks from V-Min's memory to 2p - 2") {
  for (int p : {3, 4, 5, 8, 10})
    for (int limit = 2 * ((p + 4) / 3); limit <= 2 * p - 2; ++limit) {
      CAPTURE(p);
      CAPTURE(limit);
      bound const b = workload_bound(with(v_shape(devices{p}), 2 * p, {1, 1, 1, 0}, {limit}));
      CHECK(b.span >= 12 * p + 6 * p - 1 - 3 * limit);
      if (limit >= p) CHECK(b.span == 12 * p + 6 * p - 1 - 3 * limit);
    }
}

TEST_CASE("no lower than the closed forms") {
  for (times const& t : listed_cases(
           std::vector<times>{{1, 1, 1, 0}, {10, 13, 7, 1}, {3, 1, 2, 1}, {1, 4, 2, 3}, {5, 5, 20, 9}}))
    for (int p : {1, 2, 3, 4, 7})
      for (int m : {1, 2, 3, p, 2 * p, 5 * p})
        for (int limit = 1; limit <= 2 * p + 2; ++limit) {
          CAPTURE(t[0]);
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(limit);
          workload const chain = with(linear(devices{p}), m, t, {limit});
          uniform_workload const u = uniform(p, m, t, limit);
          bound const b = workload_bound(chain);
          CHECK(b.span >= linear_bound(u));
          CHECK(b.span >= deferred_weights_bound(u));
          CHECK(b.span >= area_bound(chain));
          if (limit < 2) continue;
          workload const v = with(v_shape(devices{p}), m, t, {limit});
          bound const c = workload_bound(v);
          CHECK(c.span >= v_shape_bound(u));
          CHECK(c.span >= warm_up_bound(u));
          CHECK(c.span >= area_bound(v));
        }
}

TEST_CASE("published schedules that no other can beat") {
  for (int p : {2, 4, 7})
    for (int m : {p, 3 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      auto const gap_of = [&](char const* name) {
        schedule const s = catalog::find_any(name)->make({.p = devices{p}, .m = micro_batches{m}});
        return span(s) - schedule_bound(s).value().span;
      };
      CHECK(gap_of("1f1b") == 0);
      CHECK(gap_of("gpipe") == 0);
      CHECK(gap_of("zb-h1") == 0);
      CHECK(gap_of("zb-h2") == 0);
      CHECK(gap_of("zbv") == 0);
      if (p > 2) CHECK(gap_of("v-min") == 0);
      if (p > 2) CHECK(gap_of("v-half") == 0);
    }
}

TEST_CASE("the best public schedulers are not below the bound") {
  int rows = 0, tight = 0;
  for (json const& row : json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/v_and_zb.json"))) {
    CAPTURE(row.dump());
    std::string const name = row["schedule"];
    devices const p{row["p"].get<int>()};
    auto const peaks = row["peak"].get<std::vector<int>>();
    placement const where = name == "zb"                    ? linear(p)
                            : name == "grouped-interleaved" ? looped(p, chunks{row["chunks"].get<int>()})
                                                            : v_shape(p);
    workload w = with(where, row["m"], row["cost"], peaks);
    w.splits_backward = name != "1f1b-v";
    bound const own = workload_bound(w);
    tick const reached = row["span"], makespan = row["makespan"];
    CHECK(own.span <= reached);
    CHECK(own.makespan <= makespan);
    w.limit = chunk_activations(*std::max_element(peaks.begin(), peaks.end()));
    CHECK(workload_bound(w).span <= own.span);
    tight += own.span == reached ? 1 : 0;
    ++rows;
  }
  CHECK(rows == 396);
  CHECK(tight >= 210);
  MESSAGE(tight << " of " << rows << " spans are proved optimal");
}

}  // namespace

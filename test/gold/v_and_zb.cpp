// Compares the catalog with the best public schedulers (data/gold/v_and_zb.json: cost = forward, input,
// weight, hop) at the same peak: neither span nor makespan may be longer. Searched schedules and almost
// all others are as they come; for the rest, made for equal passes, a short search improves the order.
// Lower bounds that no schedule may beat are checked, too.
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/searched.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

struct row {
  std::string name;
  int p, m, peak, limit;
  catalog::shape shape;
  tick makespan, span;

  bool is_reached_by(schedule const& s) const {
    return ashlar::makespan(s) <= makespan && ashlar::span(s) <= span;
  }
};

row read(json const& r) {
  auto const c = r["cost"].get<std::array<tick, 4>>();
  auto const peaks = r["peak"].get<std::vector<int>>();
  json const& more = r["params"];
  row found{.name = r["schedule"],
            .p = r["p"],
            .m = r["m"],
            .peak = *std::max_element(peaks.begin(), peaks.end()),
            .limit = more.value("k", 0),
            .shape = {.p = devices{r["p"].get<int>()},
                      .m = micro_batches{r["m"].get<int>()},
                      .cost = costs(stage_cost{c[0], c[1], c[2]}, c[3])},
            .makespan = r["makespan"],
            .span = r["span"]};
  found.shape.v = chunks{more.value("v", 2)};
  found.shape.group = more.value("g", 0);
  return found;
}

// Makes a row's schedule. "zb" is ZB-1p and ZB-2p for every limit.
schedule made(row const& r) {
  if (r.name == "zb" && r.limit == r.p) return catalog::find_any("zb-1p")->make(r.shape);
  if (r.name == "zb" && r.limit == 2 * r.p) return catalog::find_any("zb-2p")->make(r.shape);
  if (r.name == "zb") return catalog::zero_bubble(r.shape, r.limit);
  return catalog::find_any(r.name)->make(r.shape);
}

TEST_CASE("no longer than the best public schedulers at the same peak") {
  std::size_t rows = 0, improved = 0;
  std::vector<json> const all = json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/v_and_zb.json"));
  CHECK(all.size() == 396);
  for (json const& line : listed_cases(all)) {
    CAPTURE(line.dump());
    row const r = read(line);
    schedule s = made(r);
    if (!r.is_reached_by(s)) {
      s = improve({s}, chunk_activations(r.peak), {.passes = 1'000'000});
      ++improved;
    }
    CHECK(check(s).ok());
    std::vector<int> const peaks = peak_activations(s);
    CHECK(*std::max_element(peaks.begin(), peaks.end()) <= r.peak);
    CHECK(makespan(s) <= r.makespan);
    CHECK(span(s) <= r.span);
    ++rows;
  }
  MESSAGE(improved << " of " << rows << " only in another order than the published one");
  CHECK(improved <= 29U);
}

// This takes 6 to 16 devices and up to 8 micro-batches for each, by span; bench/search/published.cpp
// also has those for which a search takes long.
TEST_CASE("no longer than the best public schedulers on more devices") {
  int rows = 0;
  for (json const& line : json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/v_and_zb_large.json"))) {
    auto const ticks = line["cost"].get<std::array<tick, 4>>();
    int const p = line["p"], m = line["m"], peak = line["peak"];
    catalog::entry const& e = *catalog::find_any(line["schedule"].get<std::string>());
    bool const equal = ticks[0] == 1;
    if (e.is_searched && !equal && p * m > 72) continue;
    CAPTURE(line.dump());
    schedule const s = e.make({.p = devices{p},
                               .m = micro_batches{m},
                               .cost = costs(stage_cost{ticks[0], ticks[1], ticks[2]}, ticks[3])});
    CHECK(check(s).ok());
    CHECK(span(s) <= line["span"].get<tick>());
    CHECK(peak_of_all(s) <= (e.is_searched ? (e.name == std::string("zb-1p") ? p : 2 * p) : peak));
    ++rows;
  }
  CHECK(rows == 114);
}

// Idle time of the busiest device of any schedule, and so of these, for m large: on the V-shaped
// placement under M chunk activations, on a chain under M micro-batches, and with deferred weights.
TEST_CASE("no schedule beats the lower bounds") {
  for (char const* name : {"v-min", "v-half", "v-zb", "zbv", "zb-1p", "zb-2p", "zb-h1", "zb-h2"})
    for (auto const& ticks : {std::array<tick, 4>{1, 1, 1, 0},
                              {10, 13, 7, 1},
                              {100, 104, 94, 7},
                              {3, 1, 2, 1},
                              {1, 4, 2, 0}})
      for (int p = 2; p <= 6; ++p) {
        auto const [f, b, w, c] = ticks;
        CAPTURE(name);
        CAPTURE(p);
        CAPTURE(ticks[0]);
        schedule const s = catalog::find_any(name)->make(
            {.p = devices{p}, .m = micro_batches{4 * p}, .cost = costs(stage_cost{f, b, w}, c)});
        CHECK(check(s).ok());
        bool const v = s.stage_count() == 2 * p;
        tick const M = peak_of_all(s), idle = span(s) - busy(s)[0];
        CHECK(idle >= 0);
        CHECK(idle >= ((v ? 3 : 2) * p - 1) * (f + b) + w + (v ? 6 : 4) * (p - 1) * c - M * (f + b + w));
        CHECK(makespan(s) >= span(s));
        if (!v) CHECK(idle >= (p - 1) * (f + b + 2 * c) - (M - 1) * w);
      }
}

}  // namespace

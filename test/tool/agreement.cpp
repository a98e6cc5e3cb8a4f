// A name means one schedule: every command and C++ have the same numbers for it.
#include "tool/run_tool.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/study/tradeoff.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using ashlar::tick;
using nlohmann::json;

struct catalog_setting {
  std::string name;
  int m = 8;
  std::array<tick, 4> ticks = {1, 1, 1, 0};  // forward, backward_input, backward_weight, transfer

  ashlar::schedule made() const {
    return ashlar::catalog::find_any(name)->make(
        {.p = ashlar::devices{4},
         .m = ashlar::micro_batches{m},
         .cost = ashlar::costs(ashlar::stage_cost{ticks[0], ticks[1], ticks[2]}, ticks[3])});
  }
  // Costs of a stage, or of `times` stages.
  std::string options(tick times = 1) const {
    std::ostringstream line;
    line << " -p 4 -m " << m << " --forward " << times * ticks[0] << " --transfer " << ticks[3];
    if (name != "inference")
      line << " --backward-input " << times * ticks[1] << " --backward-weight " << times * ticks[2];
    return line.str();
  }
};

constexpr std::array<tick, 4> uneven_ticks = {10, 13, 7, 1};

json json_of_tool(std::string const& arguments) {
  tool_result const r = run_tool(arguments, 60);
  CAPTURE(arguments);
  REQUIRE(r.code == 0);
  return json::parse(r.out);
}

// How many stages' work on its part of a micro-batch costs of the command line are: those that make a
// p-th of the model, or one where stages are not pieces of a model. 0: a p-th is no whole number of
// them.
tick times_of(catalog_setting const& x, ashlar::schedule const& s) {
  if (!is_chain(s.graph)) return 1;
  tick const pieces = s.stage_count() * s.micro_batch_count() / x.m;
  return pieces % 4 == 0 ? pieces / 4 : 0;
}

void show_and_emit_agree(catalog_setting const& x, ashlar::schedule const& s, tick times) {
  auto const words = [](char const* what, tick t) { return what + std::to_string(t) + " ticks"; };
  std::string const shown = run_tool("show " + x.name + x.options(times) + " --width 0").out;
  CHECK(contains(shown, words("makespan     ", makespan(s))));
  CHECK(contains(shown, words("span         ", span(s))));
  char overhead[64];
  std::snprintf(overhead, sizeof overhead, "overhead     %.2f %% of the makespan, %.2f %% of the span",
                100 * ashlar::overhead(s), 100 * ashlar::overhead_span(s));
  CHECK(contains(shown, overhead));

  json const emitted = json_of_tool("emit " + x.name + x.options(times) + " --as json");
  tick const unit = emitted["costs"].value("ticks_per_unit", tick{1});
  CHECK(emitted["makespan"] == unit * makespan(s));
  CHECK(emitted["span"] == unit * span(s));
  CHECK(emitted["overhead"] == doctest::Approx(ashlar::overhead(s)));
  CHECK(emitted["overhead_span"] == doctest::Approx(ashlar::overhead_span(s)));
}

void compare_agrees(catalog_setting const& x, ashlar::schedule const& s, tick times) {
  json const compared = json_of_tool("compare " + x.name + x.options(times) + " --as json")[0];
  CHECK(compared["makespan"] == doctest::Approx(static_cast<double>(makespan(s))));
  CHECK(compared["span"] == doctest::Approx(static_cast<double>(span(s))));
  CHECK(compared["overhead"] == doctest::Approx(ashlar::overhead(s)));
}

}  // namespace

TEST_CASE("show, emit and compare have the numbers of C++ for every schedule of the catalog") {
  for (ashlar::catalog::entry const* e : ashlar::catalog::all_entries)
    for (std::array<tick, 4> const& ticks : {std::array<tick, 4>{1, 1, 1, 0}, uneven_ticks}) {
      catalog_setting x{.name = e->name, .ticks = ticks};
      if (!e->check({.p = ashlar::devices{4}, .m = ashlar::micro_batches{8}}).ok()) x.m = 4;
      CAPTURE(x.name);
      CAPTURE(x.ticks[0]);
      ashlar::schedule const s = x.made();
      tick const times = times_of(x, s);
      if (times == 0) continue;
      show_and_emit_agree(x, s, times);
      if (is_chain(s.graph)) compare_agrees(x, s, times);
    }
}

// Only the first of equal schedules has a row; those with parameters may have several.
TEST_CASE("frontier has the numbers of C++ for every schedule on its placements") {
  std::string const rest = " --from 1 --steps 1 --budget 1 --as json --placement ";
  ashlar::devices const p{4};
  std::set<std::string> seen;
  for (auto const& [placement, where] : {std::pair{"linear", ashlar::linear(p)},
                                         {"v", ashlar::v_shape(p)},
                                         {"looped", ashlar::looped(p, ashlar::chunks{2})}}) {
    tick const stages_of_device = where.stage_count() / p.value;
    json const parts = json_of_tool(
        "frontier" + catalog_setting{.name = "", .ticks = uneven_ticks}.options(stages_of_device) + rest
        + placement);
    ashlar::costs const cost(ashlar::stage_cost{uneven_ticks[0], uneven_ticks[1], uneven_ticks[2]},
                             uneven_ticks[3]);
    for (ashlar::published_schedule const& known :
         ashlar::published_on(where, ashlar::micro_batches{8}, cost)) {
      catalog_setting const x{.name = known.entry->name, .ticks = uneven_ticks};
      CAPTURE(x.name);
      seen.insert(x.name);
      bool const has_parameters = known.entry->parameters != 0;
      double const overhead = ashlar::overhead_span(has_parameters ? known.made : x.made());
      int found = 0;
      for (json const& row : parts[0]["published"]) {
        bool const is_alike = row["overhead_span"] == doctest::Approx(overhead);
        if (row["schedule"] == x.name && !has_parameters) CHECK(is_alike);
        found += is_alike ? 1 : 0;
      }
      CHECK(found >= 1);
    }
  }
  CHECK(seen.size() >= 15);
}

TEST_CASE("tradeoff has the numbers of C++ for every schedule of the catalog") {
  using namespace ashlar;
  layered_model const own{.layers = 48, .forward = 1, .backward = 2, .transfer = 1};
  std::string names;
  std::vector<pipeline_choice> choices;
  for (catalog::entry const* e : catalog::all_entries) {
    chunks const loops{e->uses(parameter::chunk_count) ? 2 : 1};
    if (!e->check({.p = devices{4}, .m = micro_batches{8}, .v = loops}).ok()) continue;
    choices.push_back({e, devices{4}, loops, micro_batches{8}});
    names += (names.empty() ? "\"" : ", \"") + std::string(e->name) + "\"";
  }
  std::string const model = scratch_file(
      "agreed_model.json",
      R"({"layers": 48, "forward": 1, "backward": 2, "transfer": 1, "critical_batch": 1000})");
  std::string const cluster = scratch_file(
      "agreed_cluster.json", R"({"pipeline": 4, "loops": [2], "micro_batches": [8], "devices": [4],
                                 "schedules": [)"
                                 + names + "]}");
  json const all = json_of_tool("tradeoff --model " + model + " --cluster " + cluster + " --as json");
  REQUIRE(all.size() == choices.size());
  CHECK(choices.size() >= 25);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    CAPTURE(choices[i].entry->name);
    CHECK(all[i]["schedule"] == choices[i].entry->name);
    CHECK(all[i]["utilisation"][0]["utilisation"] == doctest::Approx(utilisation(own, choices[i])));
  }
}

TEST_CASE("V-Half is the finished schedule, and what a search makes of others says so") {
  CHECK(contains(run_tool("show v-half -p 4 -m 8").out, "makespan     26.5 ticks"));
  tool_result const published = run_tool("show v-min -p 5 -m 10");
  CHECK(contains(published.out, "to gain      --improve 1000000 finds"));
  CHECK(!contains(published.out, "improved"));
  CHECK(!contains(run_tool("show 1f1b -p 4 -m 8").out, "to gain"));

  std::string const options = "1f1b-v -p 4 -m 8 --improve 20000 --improve-seed 3";
  std::string const words = "1f1b-v (order improved by search, 20000 passes, seed 3)";
  CHECK(contains(run_tool("show " + options).out, words + ": "));
  json const improved = json_of_tool("emit " + options + " --as json");
  CHECK(improved["schedule"] == words);
  ashlar::schedule const s = catalog_setting{.name = "1f1b-v"}.made();
  CHECK(improved["makespan"].get<tick>() + 3 * improved["span"].get<tick>()
        <= makespan(s) + 3 * span(s));
  tool_result const pairs = run_tool("show dualpipe -p 4 -m 8 --improve 1000");
  CHECK(pairs.code == 2);
  CHECK(contains(pairs.err, "without overlapped pairs"));
}

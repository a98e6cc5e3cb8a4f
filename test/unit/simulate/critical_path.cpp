#include <ashlar/simulate/critical_path.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "options_of.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("a step of a path begins with the first instruction, at no time") {
  CHECK(path_step{} == path_step{.index = 0, .from = 0, .until = 0});
}

TEST_CASE("every instruction of the critical path lets the next one start") {
  for (tick latency : {0, 1, 5})
    for (catalog_case const& c : catalog_cases({4}, {8}, costs(stage_cost{3, 2, 4}, latency))) {
      CAPTURE(c);
      schedule const s = c.schedule();
      program const p = lower(s);
      simulation const run = simulate(p, options_of(s));
      REQUIRE(!run.critical.empty());
      CHECK(run.critical.front().from == 0);
      CHECK(run.critical.back().until == run.makespan());
      for (path_step const& step : run.critical) CHECK(step.from < step.until);
      for (std::size_t i = 0; i + 1 < run.critical.size(); ++i) {
        CHECK(run.critical[i].until == run.critical[i + 1].from);
        CHECK(run.line.timed[static_cast<std::size_t>(run.critical[i].index)].end
              == run.critical[i].until);
      }
    }
}

// Shortening a pass off the critical path changes nothing, shortening one on it may.
TEST_CASE("a stage that is not on the critical path may be slower for nothing") {
  costs c(std::vector<stage_cost>{{1, 1, 1}, {10, 10, 10}, {1, 1, 1}});
  schedule const s = catalog::find("1f1b")->make({devices{3}, micro_batches{6}, c});
  simulation const run = simulate(lower(s), options_of(s));
  program const p = lower(s);
  tick in_the_middle = 0;
  for (path_step const& step : run.critical)
    if (p.instructions[static_cast<std::size_t>(step.index)].what.stage == 1)
      in_the_middle += step.until - step.from;
  CHECK(in_the_middle == 6 * 30);  // the slow stage never rests
  CHECK(run.makespan() == 1 + 6 * 30 + 2);
}

TEST_CASE("of chains that end together the critical path is that of the first instruction") {
  timeline line;
  line.timed = {{.start = 0, .end = 2},
                {.start = 2, .end = 5, .cause = 0},
                {.start = 0, .end = 5},
                {.start = 1, .end = 4}};
  line.makespan = 5;
  CHECK(critical_path(line) == std::vector<path_step>{{0, 0, 2}, {1, 2, 5}});
}

TEST_CASE("the critical path leaves out what takes no time") {
  timeline line;
  line.timed = {{.start = 0, .end = 0},
                {.start = 0, .end = 2, .cause = 0},
                {.start = 2, .end = 2, .cause = 1},
                {.start = 2, .end = 5, .cause = 2},
                {.start = 5, .end = 5, .cause = 3}};
  line.makespan = 5;
  CHECK(critical_path(line) == std::vector<path_step>{{1, 0, 2}, {3, 2, 5}});
}

TEST_CASE("all instructions may be on the critical path, or none") {
  timeline line{.timed = {{.start = 0, .end = 2}, {.start = 2, .end = 5, .cause = 0}}, .makespan = 5};
  CHECK(critical_path(line) == std::vector<path_step>{{0, 0, 2}, {1, 2, 5}});
  line.makespan = 6;  // no instruction ends then
  CHECK(critical_path(line).empty());
  CHECK(critical_path({}).empty());
  line = {.timed = {{.start = 0, .end = 1, .cause = 0}}, .makespan = 1};  // its own cause
  CHECK(critical_path(line) == std::vector<path_step>{{0, 0, 1}});
  line = {.timed = {{.start = 3, .end = 9, .cause = 1}, {.start = 5, .end = 6, .cause = 0}},
          .makespan = 9};  // causes of each other: each is asked once
  CHECK(critical_path(line) == std::vector<path_step>{{0, 3, 9}});
}

TEST_CASE("times that are none have no critical path") {
  timeline const line{.timed = {{.start = 0, .end = 2, .cause = 7}}, .makespan = 2};
  CHECK_BREAKS(tables_agree, critical_path(line));
  CHECK_BREAKS(ticks_fit, critical_path({.timed = {{.start = 3, .end = 2}}, .makespan = 3}));
}

}  // namespace

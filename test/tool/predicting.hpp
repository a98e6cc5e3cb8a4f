// Runs `ashlar predict` and reads its output.
#pragma once

#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

// A cluster and sizes that all models run on.
inline std::string const some_run = " --cluster 2x8xH100 --sequence 4096 --batch 64";

inline nlohmann::json predicted_run(std::string const& arguments) {
  tool_result const r = run_tool("predict --as json " + arguments);
  CAPTURE(arguments);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// The width of a run's interval, as a share of its step.
inline double relative_width(nlohmann::json const& run) {
  nlohmann::json const& interval = run.at("interval");
  return (interval.at("high").get<double>() - interval.at("low").get<double>())
         / run.at("step_seconds").get<double>();
}

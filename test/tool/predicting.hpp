// Runs `ashlar predict` and reads its output.
#pragma once

#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

inline nlohmann::json predicted_run(std::string const& arguments) {
  tool_result const r = run_tool("predict --as json " + arguments);
  CAPTURE(arguments);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// Shared parts of the tests of `ashlar search`.
#pragma once

#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

inline std::string const uneven = " --forward 10 --backward-input 13 --backward-weight 7 --transfer 1";

// The result of `ashlar search`.
inline nlohmann::json found(std::string const& options) {
  tool_result const r = run_tool("search --as json " + options);
  CAPTURE(options);
  CHECK(r.err == "");
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// Plans that the tests of `ashlar plan` ask for.
#pragma once

#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

// Devices given by a few figures; what these leave open is as in a data sheet.
inline std::string figures(std::string const& kind, int nodes, int per_node) {
  bool const is_a100 = kind == "A100";
  nlohmann::json const file{{"nodes", nodes},
                            {"devices_per_node", per_node},
                            {"flops", is_a100 ? 312e12 : 989e12},
                            {"flops_fp32", is_a100 ? 19.5e12 : 67e12},
                            {"node_bytes_per_s", is_a100 ? 300e9 : 450e9},
                            {"network_bytes_per_s", is_a100 ? 25e9 : 50e9},
                            {"memory_bytes", 80e9}};
  return scratch_file(kind + "x" + std::to_string(nodes * per_node) + ".json", file.dump());
}

inline nlohmann::json planned(std::string const& arguments) {
  tool_result const r = run_tool("plan --as json " + arguments);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

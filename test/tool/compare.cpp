// `ashlar compare` from end to end.
#include "tool/run_tool.hpp"
#include <ashlar/catalog.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace {}  // namespace

TEST_CASE("compare prints every schedule, none with a hole") {
  tool_result const r = run_tool("compare -p 8 -m 32");
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  for (auto const& e : ashlar::catalog::entries) {
    CAPTURE(e.name);
    auto const at = ("\n" + r.out).find("\n" + std::string(e.name) + " ");
    REQUIRE(at != std::string::npos);
    std::string const line = r.out.substr(at, r.out.find('\n', at) - at);
    CHECK(std::count_if(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; }) > 9);
  }
  CHECK(!contains(r.out, "nan"));
}

TEST_CASE("compare in other formats") {
  auto const all = nlohmann::json::parse(run_tool("compare 1f1b v-half -p 4 -m 8 --as json").out);
  REQUIRE(all.size() == 2);
  CHECK(all[0]["schedule"] == "1f1b");
  CHECK(all[0]["makespan"] == 33);
  CHECK(all[0]["peak_activations"] == std::vector<double>{1, 0.75, 0.5, 0.25});
  CHECK(all[1]["stages"] == 8);

  std::string const csv = run_tool("compare gpipe --as csv").out;
  CHECK(csv.starts_with("schedule,devices,stages,"));
  CHECK(contains(csv, "\ngpipe,4,4,8,33,33,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);

  std::string const svg = run_tool("compare --as svg").out;
  CHECK(svg.starts_with("<svg"));
  CHECK(contains(svg, "v-half: bubble "));
}

TEST_CASE("what cannot be compared") {
  CHECK(run_tool("compare nothing").code == 2);
  CHECK(run_tool("compare -p 0").code == 2);
  CHECK(run_tool("compare --as text -o " + (scratch() / "table").string()).code == 2);
}

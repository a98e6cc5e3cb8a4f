// `ashlar compare` from end to end.
#include "tool/run_tool.hpp"
#include <ashlar/catalog/entries.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

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

TEST_CASE("compare shows bound and gap, or that there is none") {
  tool_result const r = run_tool("compare zb-h1 hanayo chimera -p 4 -m 8");
  auto const cells_of = [&](std::string const& name) {
    std::istringstream line(r.out.substr(r.out.find("\n" + name + " ") + 1));
    std::vector<std::string> cells(9);
    for (std::string& cell : cells) line >> cell;
    return cells;
  };
  // schedule, devices, stages, makespan, bound, gap, span, bound, gap
  CHECK(cells_of("zb-h1")[4] == cells_of("zb-h1")[3]);
  CHECK(cells_of("zb-h1")[5] == "0.0");
  CHECK(cells_of("zb-h1")[8] == "0.0");
  CHECK(std::stod(cells_of("hanayo")[8]) > 0);
  CHECK(cells_of("chimera")[4] == "-");
  CHECK(cells_of("chimera")[8] == "-");
}

TEST_CASE("compare in other formats") {
  auto const all = nlohmann::json::parse(run_tool("compare 1f1b v-half -p 4 -m 8 --as json").out);
  REQUIRE(all.size() == 2);
  CHECK(all[0]["schedule"] == "1f1b");
  CHECK(all[0]["makespan"] == 33);
  CHECK(all[0]["peak_activations"] == std::vector<double>{1, 0.75, 0.5, 0.25});
  CHECK(all[1]["stages"] == 8);
  CHECK(all[0]["makespan_bound"] == 33);
  CHECK(all[0]["makespan_gap"] == 0);
  CHECK(all[1]["span_bound"] <= all[1]["span"]);
  CHECK(!nlohmann::json::parse(run_tool("compare chimera --as json").out)[0].contains("span_bound"));

  std::string const csv = run_tool("compare gpipe --as csv").out;
  CHECK(csv.starts_with("schedule,devices,stages,"));
  CHECK(contains(csv, "\ngpipe,4,4,8,33,33,"));
  CHECK(csv.ends_with(",33,0,33,0\n"));
  CHECK(run_tool("compare chimera --as csv").out.ends_with(",,,,\n"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);

  std::string const svg = run_tool("compare --as svg").out;
  CHECK(svg.starts_with("<svg"));
  CHECK(contains(svg, "v-half: bubble "));
  CHECK(contains(svg, "1f1b: bubble 27.27 %, no less than 27.27 %, activations 100 %"));
}

TEST_CASE("what cannot be compared") {
  CHECK(run_tool("compare nothing").code == 2);
  CHECK(run_tool("compare -p 0").code == 2);
  CHECK(run_tool("compare --as text -o " + (scratch() / "table").string()).code == 2);
}

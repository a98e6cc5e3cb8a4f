// `ashlar compare` from end to end.
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"
#include <ashlar/catalog/searched_entries.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

TEST_CASE("compare prints every schedule, none with a hole") {
  tool_result const r = run_tool("compare -p 8 -m 32");
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  for (ashlar::catalog::entry const* e : ashlar::catalog::all_entries) {
    CAPTURE(e->name);
    if (contains(r.out, "\n" + std::string(e->name) + ": its stages are not consecutive pieces"))
      continue;
    auto const at = ("\n" + r.out).find("\n" + std::string(e->name) + " ");
    REQUIRE(at != std::string::npos);
    std::string const line = r.out.substr(at, r.out.find('\n', at) - at);
    CHECK(std::count_if(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; }) > 9);
  }
  CHECK(!contains(r.out, "nan"));
}

TEST_CASE("compare shows bound and gap, on several routes too") {
  tool_result const r = run_tool("compare zb-h1 hanayo chimera -p 4 -m 8");
  auto const cells_of = [&](std::string const& name) {
    std::istringstream line(r.out.substr(r.out.find("\n" + name + " ") + 1));
    std::vector<std::string> cells(9);
    for (std::string& cell : cells) line >> cell;
    return cells;
  };
  // The cells are schedule, devices, stages, makespan, bound, gap, span, bound, gap.
  CHECK(cells_of("zb-h1")[4] == cells_of("zb-h1")[3]);
  CHECK(cells_of("zb-h1")[5] == "0.0");
  CHECK(cells_of("zb-h1")[8] == "0.0");
  CHECK(std::stod(cells_of("hanayo")[8]) > 0);
  CHECK(std::stod(cells_of("chimera")[4]) <= std::stod(cells_of("chimera")[3]));
  CHECK(std::stod(cells_of("chimera")[4]) >= 24);  // its work
}

TEST_CASE("compare refuses what is no chain of pieces of the model, by name") {
  tool_result const r = run_tool("compare 1f1b vocab-1 vocab-2 interlaced -p 4 -m 16");
  CHECK(r.code == 0);
  for (char const* each : {"vocab-1", "vocab-2", "interlaced"})
    CHECK(contains(r.out, std::string(each) + ": its stages are not consecutive pieces of the model"));
  CHECK(!contains(r.out, "vocab-1  "));
  std::string const file = (scratch() / "vocab.json").string();
  REQUIRE(run_tool("emit vocab-1 -p 4 -m 16 --as json -o " + file).code == 0);
  CHECK(contains(run_tool("compare " + file + " 1f1b").out, "its stages are not consecutive pieces"));
}

TEST_CASE("compare with speeds leaves out, with the reason, what has other devices") {
  tool_result const r = run_tool("compare -p 4 -m 8 --speeds 100,100,50,100");
  CHECK(r.code == 0);
  CHECK(contains(r.out, "\n1f1b "));
  CHECK(contains(r.out, "depth-first-accumulation: has 1 device, but --speeds are of 4"));
  tool_result const two = run_tool("show 1f1b -p 2 --speeds 100,50,50");
  CHECK(contains(two.err, "--speeds has speeds of 3 devices, but there are 2 devices"));
}

TEST_CASE("names from files are no escape sequences on a terminal, nor formulas in CSV") {
  auto const named = [](std::string const& file, std::string const& name) {
    return scratch_file(file, R"({"schedule": ")" + name
                                  + R"(", "placement": [0], "route": [0], "orders": [["0F0", "0B0"]]})");
  };
  std::string const file = named("escape.json", R"(\u001b]0;x\u0007\u001b[2J\u009b\u202e)");
  for (char const* command :
       {"show ", "check ", "simulate ", "compare ", "compare --as csv ", "emit --as csv "}) {
    tool_result const r = run_tool(command + file);
    CAPTURE(command);
    for (char const* each : {"\x1b", "\x07", "\u009b", "\u202e"}) CHECK(!contains(r.out + r.err, each));
  }
  CHECK(contains(run_tool("show " + file).out, "\\x1b]0;x\\x07\\x1b[2J\\xc2\\x9b\\xe2\\x80\\xae"));
  std::string const odd = "$(printf '%b' '\\033[2J').json";
  CHECK(contains(run_tool("check \"" + odd + "\"").err, "\\x1b[2J.json"));
  for (std::string const start : {"=", "+", "-", "@"}) {
    std::string const row =
        run_tool("compare " + named("formula.json", start + "HYPERLINK(1)") + " 1f1b --as csv").out;
    CAPTURE(row);
    CHECK(contains(row, "\n'"));
  }
  CHECK(contains(run_tool("compare --as csv " + named("tab.json", R"(\t=1)")).out, "\n\\x09=1,"));
}

TEST_CASE("compare on links that are slow") {
  std::string const times = "--forward 10ms --backward-input 10ms --backward-weight 10ms ";
  auto const compared = [&](std::string const& words) {
    return nlohmann::json::parse(run_tool("compare " + words + " --as json " + times).out);
  };
  // The step is a forward and a backward on each of two devices, and the messages between.
  CHECK(compared("1f1b -p 2 -m 1 --link 0-1:60ms")[0]["makespan"] == 60 + 60);
  CHECK(compared("1f1b -p 2 -m 1 --link 0-1:60ms --link 1-0:5ms")[0]["makespan"] == 60 + 65);
  std::string const slow = "1f1b eager-1f1b -p 8 -m 16 --link 2-3:60ms";
  auto const both = compared(slow), fast = compared("1f1b eager-1f1b -p 8 -m 16");
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(both[i]["makespan"] > fast[i]["makespan"]);
    CHECK(both[i]["makespan_bound"] <= both[i]["makespan"]);
  }
  CHECK(both[1]["makespan"] < both[0]["makespan"]);  // with twice the warm-up
  // A schedule on fewer devices does not have the link.
  CHECK(compared("depth-first-accumulation 1f1b -p 4 -m 8 --link 2-3:60ms").size() == 2);
  all_refused({{"compare -p 4 --link 0-4:1ms", "no transfer goes from device 0 to device 4"},
               {"compare -p 4 --link 1-1:1ms", "no transfer goes from device 1 to device 1"},
               {"compare -p 4 --link 0-1", "FROM-TO:TIME"}});
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
  CHECK(nlohmann::json::parse(run_tool("compare chimera --as json").out)[0].contains("span_bound"));

  // 48 transfers, of which the warm-up's and the cool-down's first and last have no time to lose.
  CHECK(all[0]["slack"].size() == 6);
  CHECK(all[0]["slack"][0] == nlohmann::json{{"from", 0}, {"to", 1}, {"transfers", 8}, {"slack", 0}});

  std::string const csv = run_tool("compare gpipe --as csv").out;
  CHECK(csv.starts_with("schedule,devices,stages,"));
  CHECK(contains(csv, "\ngpipe,4,4,8,33,33,"));
  CHECK(contains(csv, ",33,0,33,0,0.2727"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);

  std::string const svg = run_tool("compare --as svg").out;
  CHECK(svg.starts_with("<svg"));
  CHECK(contains(svg, "v-half: overhead "));
  CHECK(contains(svg, "1f1b: overhead 27.27 %, no less than 27.27 %, activations 100 %"));
}

TEST_CASE("what is recomputed is overhead, and saves memory") {
  auto const numbers = [](std::string const& name, std::string const& more = "") {
    return nlohmann::json::parse(run_tool("compare " + name + " -p 4 -m 8 --as json" + more).out)[0];
  };
  nlohmann::json const plain = numbers("1f1b"), again = numbers("1f1b-recompute");
  CHECK(plain["overhead"] == plain["bubble_rate"]);
  CHECK(again["overhead"].get<double>() > plain["overhead"].get<double>());
  CHECK(again["overhead"].get<double>() > again["bubble_rate"].get<double>());
  // It holds one whole activation, and of three more what is kept: 6 % unless stated otherwise.
  CHECK(again["peak_activations"][0] == (100 + 3 * 6) / 400.0);
  CHECK(numbers("1f1b-recompute", " --checkpoint 0.5")["peak_activations"][0] == (100 + 3 * 50) / 400.0);
  CHECK(run_tool("compare 1f1b --checkpoint 2").code == 2);
}

TEST_CASE("a schedule of one's own beside the catalog") {
  std::string const file =
      scratch_file("own.json", R"({"placement": [0, 1], "interval": 3, "costs": {"transfer": 5},
                      "cells": {"0F": 0, "1F": 1, "1B": 2, "0B": 4}})");
  auto const all = nlohmann::json::parse(run_tool("compare " + file + " -m 6 --as json").out);
  CHECK(all.size() == ashlar::catalog::all_entries.size() + 1);
  CHECK(all[0]["schedule"] == "own");
  CHECK(all[0]["devices"] == 2);
  CHECK(all[0]["micro_batches"] == 6);
  CHECK(all[1]["devices"] == 1);  // the whole catalog, on as many devices as the file has
  // Under the costs of the command line it is 1F1B.
  auto const two = nlohmann::json::parse(
      run_tool("compare " + file + " 1f1b -p 2 -m 6 --as json --forward 3 --transfer 1").out);
  REQUIRE(two.size() == 2);
  for (char const* const key : {"makespan", "span", "overhead", "stages", "micro_batches"})
    CHECK(two[0][key] == two[1][key]);
  tool_result const other = run_tool("compare " + file + " 1f1b -p 4 -m 8 --speeds 100,100,100,50");
  CHECK(contains(other.out, "own: has 2 devices, but --speeds are of 4"));
  std::string const emitted = (scratch() / "own_v.json").string();
  CHECK(run_tool("emit v-half -p 4 -m 12 --as json -o " + emitted).code == 0);
  CHECK(contains(run_tool("compare " + emitted + " 1f1b -m 8").out,
                 "v-half: is of 12 micro-batches, not 8"));
}

TEST_CASE("show, simulate and check take as long as compare, so that schedules are of one model") {
  std::string const costs = " -p 4 -m 8 --forward 3 --backward-input 4 --backward-weight 2 --transfer 1";
  auto const all = nlohmann::json::parse(run_tool("compare --as json" + costs).out);
  int compared = 0;
  for (nlohmann::json const& row : all) {
    std::string const name = row["schedule"];
    tool_result const shown = run_tool("show " + name + costs);
    if (shown.code != 0 || !row.contains("makespan")) continue;
    CAPTURE(name);
    std::string const words = "makespan     ";
    double const makespan = row["makespan"];
    CHECK(std::stod(shown.out.substr(shown.out.find(words) + words.size())) == makespan);
    CHECK(contains(shown.out, "\ncosts are of ") == (row["stages"] != 4 || row["micro_batches"] != 8));
    auto const emitted = nlohmann::json::parse(run_tool("emit --as json " + name + costs).out);
    CHECK(emitted["makespan"].get<double>() / emitted["costs"].value("ticks_per_unit", 1.0) == makespan);
    ++compared;
  }
  CHECK(compared > 25);
}

// RFC 4180 has quotes around commas; JSON, HTML and SVG have UTF-8 alone.
TEST_CASE("names of files with commas, quotes and bytes that are no UTF-8") {
  std::string const block = R"({"placement": [0, 1], "interval": 3,
    "cells": {"0F": 0, "1F": 1, "1B": 2, "0B": 4}})";
  std::string const odd = "'" + scratch_file("a,\"b\xFF.json", block) + "'";
  std::string const csv = run_tool("compare " + odd + " 1f1b -p 2 -m 4 --as csv").out;
  CHECK(contains(csv, "\n\"a,\"\"b\xFF\",2,2,4,"));
  auto const all = nlohmann::json::parse(run_tool("compare " + odd + " 1f1b -p 2 -m 4 --as json").out);
  CHECK(all[0]["schedule"] == "a,\"b\xEF\xBF\xBD");
  for (std::string const as : {"json", "svg", "html", "trace"}) {
    tool_result const r = run_tool("emit " + odd + " -m 4 --as " + as);
    CHECK(r.code == 0);
    CHECK_FALSE(contains(r.out, "\xFF"));
  }
}

// Eight parts of a model, of which the last is twice as dear: schedules of four and of eight stages do
// the same work on their last devices.
TEST_CASE("costs of consecutive parts of the model") {
  std::string const costs =
      scratch_file("parts.csv", "1,1,1\n1,1,1\n1,1,1\n1,1,1\n1,1,1\n1,1,1\n1,1,1\n2,2,2\n");
  auto const all = nlohmann::json::parse(
      run_tool("compare 1f1b depth-first seq1f1b -p 4 -m 8 --as json --per-stage " + costs).out);
  for (auto const& one : all)
    CHECK((1 - one["bubble_rate"].get<double>()) * one["makespan"].get<double>()
          == doctest::Approx(8 * 9));
}

TEST_CASE("what cannot be compared") {
  CHECK(run_tool("compare /no/such.json").code == 2);
  CHECK(run_tool("compare nothing").code == 2);
  CHECK(run_tool("compare -p 0").code == 2);
  CHECK(run_tool("compare --as text -o " + (scratch() / "table").string()).code == 2);
}

// Slacks are in time units as the makespan, and of each link: one tick more makes the step longer.
TEST_CASE("compare says how late each link may be") {
  std::string const line = "zb-2p -p 4 -m 8 --forward 2.5ms --backward-input 3ms --backward-weight 2ms ";
  auto const one = nlohmann::json::parse(run_tool("compare " + line + "--as json").out).at(0);
  double most = 0;
  for (auto const& link : one["slack"]) most = std::max(most, link["slack"].get<double>());
  CHECK(most > 0);
  CHECK(contains(run_tool("compare " + line).out, "slack"));
  CHECK(contains(run_tool("compare " + line + "--as csv").out, "least_slack,most_slack"));
  // One device has no links.
  CHECK(nlohmann::json::parse(run_tool("compare depth-first-accumulation --as json").out)[0]["slack"]
            .empty());
}

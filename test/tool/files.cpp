// The tool takes a file of a schedule wherever it takes a name.
#include "tool/refusals.hpp"
#include <ashlar/catalog/searched_entries.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

// The V-shaped block of V-Half's placement for two devices, as people write it by hand.
std::string const loose = R"({"placement": [0, 1, 1, 0], "interval": 6,
  "cells": {"0F": 0, "1F": 1, "2F": 2, "3F": 3, "3I": 4, "3W": 5, "2I": 5, "2W": 6,
            "1I": 7, "1W": 8, "0I": 9, "0W": 10}})";

std::string saved(std::string const& name, std::string const& line) {
  std::string const file = (scratch() / name).string();
  CHECK(run_tool(line + " -o " + file).code == 0);
  return file;
}

}  // namespace

TEST_CASE("JSON of emit comes back byte by byte, costs included") {
  std::string const forwards = " --forward 10 --transfer 2",
                    backwards = " --backward-input 13 --backward-weight 7";
  for (ashlar::catalog::entry const* entry : ashlar::catalog::all_entries) {
    CAPTURE(entry->name);
    std::string const costs = forwards + (std::string(entry->name) == "inference" ? "" : backwards);
    std::string const file =
        saved("any.json", "emit " + std::string(entry->name) + " -p 4 -m 8 --as json" + costs);
    tool_result const again = run_tool("emit " + file + " --as json");
    CHECK(again.code == 0);
    CHECK(again.out == content(file));
  }
  std::string const per_stage = saved("per_stage.json", "emit 1f1b -p 2 -m 4 --as json --per-stage "
                                                            + scratch_file("c.csv", "1,2,3\n4,5,6\n"));
  CHECK(run_tool("emit " + per_stage + " --as json").out == content(per_stage));
}

TEST_CASE("costs of each stage and sequence chunk") {
  std::string const each = scratch_file("chunks.csv", "1,2,1\n2,3,1\n4,6,2\n5,7,2\n");
  std::string const pieces = "emit seq1f1b -p 2 -m 4 --sequence-chunks 2 --as json";
  std::string const file = saved("chunks.json", pieces + " --per-stage " + each);
  auto const made = nlohmann::json::parse(content(file));
  CHECK(made["costs"]["sequence_chunks"] == 2);
  REQUIRE(made["costs"]["per_stage"].size() == 4);
  CHECK(made["costs"]["per_stage"][1]["backward_input"] == 3);
  CHECK(made["costs"]["per_stage"][2]["forward"] == 4);
  CHECK(made["busy"] == nlohmann::json({4 * (1 + 2 + 1 + 2 + 3 + 1), 4 * (4 + 6 + 2 + 5 + 7 + 2)}));
  CHECK(run_tool("emit " + file + " --as json").out == content(file));
  CHECK(run_tool("check " + file).code == 0);
  std::string const alike = saved("pieces.json", pieces);
  CHECK(nlohmann::json::parse(run_tool("emit " + alike + " --as json --per-stage " + each).out)["starts"]
        == made["starts"]);
  auto const simulated = nlohmann::json::parse(run_tool("simulate " + file + " --as json").out);
  CHECK(simulated["makespan"] == made["makespan"]);
  // These costs are of other chunks, or of none.
  CHECK(
      contains(run_tool("emit seq1f1b -p 2 -m 4 --as json --sequence-chunks 4 --per-stage " + each).err,
               "has costs of 4 stages"));
  CHECK(contains(run_tool("emit 1f1b -p 2 -m 4 --as json --per-stage " + each).err,
                 "has costs of 4 stages"));
  nlohmann::json other = made;
  other["sequence_chunks"] = 4;
  CHECK(contains(run_tool("emit --as json " + scratch_file("other.json", other.dump())).err,
                 "chunks of a sequence that have costs of their own are 2, not 1 or 4"));
  other = made;
  other["costs"]["sequence_chunks"] = 3;
  CHECK(contains(run_tool("emit --as json " + scratch_file("other.json", other.dump())).err,
                 "has 4 costs, but 2 stages with 3 sequence chunks each"));
}

TEST_CASE("a file stands for a name, in every command") {
  std::string const json = saved("own.json", "emit v-half -p 4 -m 8 --as json --forward 3 --transfer 1");
  std::string const csv = saved("own.csv", "emit v-half -p 4 -m 8 --as pytorch");
  std::string const comms = saved("comms.csv", "emit v-half -p 4 -m 8 --as pytorch-comms");
  auto const makespan_of = [](std::string const& arguments) {
    tool_result const r = run_tool("emit " + arguments + " --as json");
    CAPTURE(r.err);
    REQUIRE(r.code == 0);
    return nlohmann::json::parse(r.out)["makespan"].get<long>();
  };
  long const unit = makespan_of("v-half -p 4 -m 8"),
             costly = makespan_of("v-half -p 4 -m 8 --forward 3 --transfer 1");
  CHECK(makespan_of(json) == costly);
  CHECK(makespan_of(csv) == unit);
  CHECK(makespan_of(comms) == unit);
  CHECK(makespan_of(csv + " --forward 3 --transfer 1") >= unit);
  CHECK(makespan_of("- <" + csv) == unit);

  // Two stages per device have half a tick's work each.
  auto const words = [](long halves) {
    return std::to_string(halves / 2) + (halves % 2 == 0 ? "" : ".5");
  };
  CHECK(contains(run_tool("show " + json).out, "makespan     " + words(costly) + " ticks"));
  CHECK(contains(run_tool("simulate " + csv).out, "makespan  " + words(unit) + " ticks"));
  CHECK(run_tool("emit " + csv + " --as pytorch").out == content(csv));
  CHECK(run_tool("emit " + csv + " --as svg").out.starts_with("<svg"));
  CHECK(run_tool("emit 1f1b -p 4 -m 8 --as html --against " + csv).code == 0);
  std::string const text = scratch_file("text.txt", std::string(2000, 'a'));
  CHECK(run_tool("train --steps 1 --blocks 1 --width 8 --heads 1 --context 8 --sequences 1 --corpus "
                 + text + " --schedule " + csv)
            .code
        == 0);
  CHECK(contains(run_tool("check " + json).out, "makespan " + words(costly)));
  CHECK(contains(run_tool("frontier " + csv + " --placement v --steps 1 --budget 1").out, "v-half"));
}

TEST_CASE("a search begins with schedules of one's own") {
  std::string const file = saved("start.json", "emit " + scratch_file("start_block.json", loose)
                                                   + " -m 6 --as json --forward 3 --transfer 1");
  auto const own = nlohmann::json::parse(content(file));
  auto const found =
      nlohmann::json::parse(run_tool("search --start " + file + " --budget 20 --as json").out);
  for (char const* const key : {"devices", "stages", "micro_batches", "placement", "costs"})
    CHECK(found[key] == own[key]);
  CHECK(found["span"] <= own["span"]);
  std::vector<int> const peaks = own["peak_activations"];
  CHECK(found["limit"] == *std::max_element(peaks.begin(), peaks.end()));
  // The search uses the costs, limit and placement that are given.
  auto const given = nlohmann::json::parse(
      run_tool("search --start " + file + " --budget 20 --as json --limit 4 --backward-input 2").out);
  CHECK(given["limit"] == 4);
  CHECK(given["costs"]["per_stage"][0]["forward"] == 1);
  CHECK(run_tool("search --start " + file + " --placement any --budget 20").code == 0);
  CHECK(run_tool("search --start 1f1b --start zb-h1 -p 2 --budget 20").code == 0);
  all_refused(
      {{"search --start " + file + " --placement linear", "a search cannot begin with"},
       {"search --start " + file + " -m 5", "a search cannot begin with"},
       {"search --start " + file + " -p 4", "-p/--devices is 4, but the placement has 2 devices"},
       {"search --start chimera", "a search cannot begin with chimera"}});
}

TEST_CASE("a search on a placement of one's own") {
  auto const found = nlohmann::json::parse(
      run_tool("search --placement 0,1,1,0,0,1 -m 4 --limit 6 --budget 20 --as json").out);
  CHECK(found["placement"] == nlohmann::json::parse("[[0,1,1,0,0,1]]"));
  CHECK(found["layout"] == "own");
  CHECK(nlohmann::json::parse(run_tool("search --placement 0,1,1,0 --budget 5 --as json").out)["layout"]
        == "v");
  CHECK(run_tool("frontier --placement 0,1,2,1,0 --from 1 --steps 1 --budget 5").code == 0);
  all_refused({{"search --placement 0,2", "no stage is on device 1"},
               {"search --placement 0,,1", "empty entry"},
               {"search --placement 0,1/1,0", "several routes"},
               {"search --placement 0,1/1", "routes of 2 and 1 stages"},
               {"search --placement 0,5000", "--placement: a device must be from 0 to 1023"},
               {"search --placement 0,1 -p 3", "-p/--devices is 3"},
               {"search --placement 0,1 -v 2", "-v/--chunks"},
               {"search --placement zigzag", "zigzag"}});
}

TEST_CASE("check takes blocks and names") {
  std::string const file = scratch_file("checked_block.json", loose);
  tool_result const r = run_tool("check " + file + " -m 6");
  CHECK(r.code == 0);
  CHECK(contains(r.out, "valid: 2 devices, 4 stages, 6 micro-batches"));
  tool_result const named = run_tool("check breadth-first -p 2 -m 6 -v 3 --transfer 1");
  CHECK(named.code == 0);
  CHECK(contains(named.out, "breadth-first: valid: 2 devices, 6 stages, 6 micro-batches"));
  std::string const order = saved("checked.csv", "emit 1f1b -p 2 -m 3 --as pytorch");
  all_refused({{"check " + order + " -m 3", "--micro-batches has no effect on a CSV"},
               {"check " + order + " -v 3", "--chunks has no effect on a CSV"},
               {"check 1f1b -v 3", "--chunks has no effect on 1f1b"},
               {"check 1f1b --dialect i-b", "--dialect has no effect on a schedule of the catalog"}});
}

TEST_CASE("times in files are as on the command line") {
  auto const emitted = [](std::string const& text, std::string const& more = "") {
    return nlohmann::json::parse(
        run_tool("emit " + scratch_file("timed.json", text) + " -m 2 --as json" + more).out);
  };
  std::string const cells = R"("cells": {"0F0": 0, "0B0": 1.5}, "interval": 6)";
  auto const plain = emitted(R"({"placement": [0], "costs": {"forward": 1.5, "backward_weight": 0.25}, )"
                             + cells + "}");
  CHECK(plain["costs"]["ticks_per_unit"] == 4);
  CHECK(plain["costs"]["per_stage"][0]["forward"] == 6);
  CHECK(plain["costs"]["per_stage"][0]["backward_input"] == 4);  // 1 of the unit
  CHECK(plain["makespan"] == 2 * (6 + 4 + 1));
  auto const in_ms =
      emitted(R"({"placement": [0], "costs": {"forward": 1.5, "time_unit": "ms"}, )" + cells + "}");
  CHECK(in_ms["costs"]["time_unit"] == "ms");
  CHECK(in_ms["costs"]["ticks_per_unit"] == 2);
  auto const each = emitted(R"({"placement": [0], "costs": {"forward": "1500us"}, "interval": "6ms",
                                "cells": {"0F0": 0, "0B0": "1.5ms"}})");
  CHECK(each["makespan"]
        == emitted(R"({"placement": [0], "costs": {"forward": 1500, "time_unit": "us"},
                                        "interval": 6000, "cells": {"0F0": 0, "0B0": 1500}})")
            ["makespan"]);
  std::string const file =
      scratch_file("in_ms.json",
                   R"({"placement": [0], "costs": {"forward": 1.5, "time_unit": "ms"}, )" + cells + "}");
  CHECK(contains(run_tool("show " + file + " -m 2").out, "makespan     7 ms"));
  // A trace is in the time of the unit, and so is a page.
  auto const trace =
      nlohmann::json::parse(run_tool("emit " + file + " -m 2 --as trace").out)["traceEvents"];
  double longest = 0;
  for (auto const& event : trace)
    if (event["ph"] == "X") longest = std::max(longest, event["dur"].get<double>());
  CHECK(longest == 2000);  // microseconds
  CHECK(contains(run_tool("emit " + file + " -m 2 --as html").out, R"("unit":{"ticks":2,"name":"ms"})"));
}

TEST_CASE("check takes costs") {
  std::string const file = saved("order.csv", "emit 1f1b -p 2 -m 1 --as pytorch");
  CHECK(contains(run_tool("check " + file).out, "makespan 6,"));
  CHECK(contains(run_tool("check " + file + " --transfer 10").out, "makespan 26,"));
  CHECK(run_tool("check " + file + " --forward -1").code == 2);
}

TEST_CASE("what search finds comes back") {
  std::string const file =
      saved("found.json",
            "search -p 4 -m 8 --placement v --limit 4 --budget 50 --as json --forward 10 --transfer 1");
  auto const found = nlohmann::json::parse(content(file));
  auto const again = nlohmann::json::parse(run_tool("emit " + file + " --as json").out);
  for (char const* const key : {"orders", "starts", "costs", "placement", "route", "makespan", "span"})
    CHECK(again[key] == found[key]);
}

TEST_CASE("a building block is repeated and squeezed") {
  std::string const file = scratch_file("block.json", loose);
  tool_result const r = run_tool("show " + file + " -m 6");
  CHECK(r.code == 0);
  CHECK(contains(r.out, "2 devices, V-shape placement, 4 stages, 6 micro-batches"));
  CHECK(contains(run_tool("show " + file + " --block").out, "stage 0 on device 0"));
  CHECK(run_tool("check " + saved("block.csv", "emit " + file + " -m 6 --as pytorch")).code == 0);
  // The costs of the file hold, unless others are given.
  std::string const costly = scratch_file(
      "costly.json", R"({"placement": [0], "interval": 60, "costs": {"forward": 10, "transfer": 3},
                         "cells": {"0F0": 0, "0B0": 10}})");
  CHECK(contains(run_tool("show " + costly + " -m 2").out, "makespan     24 ticks"));
  CHECK(contains(run_tool("show " + costly + " -m 2 --forward 5").out, "makespan     14 ticks"));
}

// Two branches that meet, one of them with larger micro-batches.
TEST_CASE("stage graphs in files") {
  std::string const block =
      scratch_file("graph_block.json", R"({"placement": [0, 1, 2, 3], "interval": 3,
    "stage_edges": [[0, 1], [0, 2], [1, 3], [2, 3]], "cells": {"0F": 0, "1F": 1, "2F": 1, "3F": 2,
    "3B": 3, "1B": 5, "2B": 5, "0B": 7}})");
  std::string const file = saved("graph.json", "emit " + block + " -m 6 --as json");
  CHECK(run_tool("emit " + file + " --as json").out == content(file));
  CHECK(nlohmann::json::parse(content(file))["makespan"] == 3 * 5 + 3 * 3);
  CHECK(contains(run_tool("show " + file).out, "with any memory"));
  CHECK(run_tool("simulate " + file).code == 0);
  std::string const sized = scratch_file("sized.json", R"({"placement": [[0, 1]], "route": [0, 0],
    "stage_edges": [[0, 1]], "micro_batch_sizes": [1, 2],
    "orders": [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0"]]})");
  std::string const again = saved("sized_again.json", "emit " + sized + " --as json");
  CHECK(run_tool("emit " + again + " --as json").out == content(again));
  CHECK(nlohmann::json::parse(content(again))["micro_batch_sizes"] == std::vector<int>{1, 2});
  std::string const rest = R"(, "placement": [0, 1], "interval": 3, "cells": {}})";
  all_refused(
      {{"show " + scratch_file("g1.json", R"({"stage_edges": 1)" + rest),
        "\"stage_edges\" must be a list"},
       {"show " + scratch_file("g2.json", R"({"stage_edges": [[0]])" + rest), "two stages"},
       {"show " + scratch_file("g3.json", R"({"stage_edges": [[1, 0]])" + rest), "a higher stage"},
       {"show " + scratch_file("g4.json", R"({"stage_edges": [[0, "1"]])" + rest), "a whole number"},
       {"show " + scratch_file("g5.json", R"({"micro_batch_sizes": [2, 3])" + rest), "divide"}});
}

// A makespan counts from 0: with earlier starts it would be below its bound.
TEST_CASE("check: starts before 0 and counts that contradict the orders are refused, with their place") {
  std::string const whole = R"({"placement": [[0]], "route": [0, 0], )";
  std::string const orders = R"("orders": [["0F0", "0F1", "0B0", "0B1"]])";
  auto const file = [&](std::string const& name, std::string const& more) {
    return "check " + scratch_file(name, whole + orders + more + "}");
  };
  CHECK(
      run_tool(file("right.json", R"(, "starts": [[0, 1, 2, 4]], "micro_batches": 2, "stages": 1)")).code
      == 0);
  all_refused(
      {{file("early.json", R"(, "starts": [[-5, -4, 2, 4]])"),
        "line 1, column 93: \"starts\" must be a whole number from 0"},
       {file("early_ms.json", R"(, "starts": [["-5ms", "0ms", "2ms", "4ms"]])"), "\"starts\" must be"},
       {file("many.json", R"(, "micro_batches": 1e9)"),
        "\"micro_batches\" is 1000000000.0, but there are 2"},
       {file("devices.json", R"(, "devices": 2)"), "\"devices\" is 2, but there are 1"},
       {file("stages.json", R"(, "stages": "one")"), "\"stages\" is \"one\", but there are 1"}});
}

TEST_CASE("files that hold no schedule are refused, with what is wrong") {
  auto const refused = [](std::string const& text, std::string const& why) {
    all_refused({{"show " + scratch_file("wrong.json", text) + " -m 2", why}});
  };
  refused("{\"placement\": [0]", "wrong.json', line 1, column 18: ");
  refused("{\"placement\": " + std::string(10'000'000, '['),
          "line 1, column 79: lists and objects must not be within each other 65 times");
  refused("{}", "wrong.json', line 1, column 1: lacks \"placement\"");
  refused("{\n \"placement\": [0, 1,\n  -1], \"cells\": {}}",
          "wrong.json', line 3, column 3: \"placement\" must be a whole number from 0 to 1023");
  refused("{\"placement\": [0], \"interval\": 3,\n\"cells\": {\"0F\": 0, \"0Q\": 12}}",
          "line 2, column 26: has \"0Q\" for a pass");
  refused("{\"placement\": [[0]], \"route\": [0], \"orders\":\n [[\"0F0\", \"0 \\\"0\"]]}",
          "line 2, column 11: has \"0 \"0\" for a pass");
  refused("{\"placement\": [[0]], \"route\": [0], \"orders\": [[\"0F0\"],[]]}",
          "line 1, column 46: has orders of 2 devices");
  refused(R"({"placement": [], "cells": {}})", "\"placement\"");
  refused(R"({"placement": [0, -1], "cells": {}})", "a whole number from 0 to 1023");
  refused(R"({"placement": [0], "cells": {}})", "lacks \"interval\"");
  refused(R"({"placement": [0], "interval": 3, "cells": {"0Q": 1}})", "has \"0Q\" for a pass");
  refused(R"({"placement": [0], "interval": 3, "cells": {"1F": 1}})", "has a cell \"1F\", but 1 stages");
  refused(R"({"placement": [0], "interval": 3, "cells": {"0F": 1, "0F": 2}})", "\"0F\" is there twice");
  refused(R"({"placement": [0], "interval": 3, "cells": {"0F": 0, "0I": 1}})", "0");  // no weight pass
  refused(R"({"placement": [[0]], "route": [0, 1], "orders": [[]]})", "\"route\"");
  refused(R"({"placement": [[0]], "route": [0], "orders": []})", "orders of 0 devices, but 1 devices");
  refused(R"({"placement": [[0]], "route": [0], "orders": [[7]]})",
          "line 1, column 48: \"orders\" must be a text");
  refused(R"({"placement": [0], "interval": 1e999, "cells": {}})",
          "wrong.json', line 1, column 32: the number is too large");
  refused(R"({"placement": [0], "interval": 3, "cells": [1]})", "\"cells\" must be an object");
  refused(R"({"schedule": 3, "placement": [0], "interval": 3, "cells": {}})",
          "line 1, column 14: \"schedule\" must be a text");
  refused(R"({"placement": [0], "interval": 18446744073709551615, "cells": {}})",
          "\"interval\" must be a whole number from 1");
  refused(R"({"placement": [0], "costs": [1], "interval": 3, "cells": {}})",
          "\"costs\" must be an object");
  refused(R"({"placement": [0], "costs": {"forward": "long"}, "interval": 3, "cells": {}})",
          "line 1, column 41: \"forward\" must be a time like 3, 1.5, 12.5ms");
  refused(R"({"placement": [0], "costs": {"forward": "2ms"}, "interval": 3, "cells": {}})",
          "\"interval\" has no unit, but other times are in ms");
  refused(
      R"({"placement": [0], "costs": {"forward": 1.5, "ticks_per_unit": 2}, "interval": 3, "cells": {}})",
      "\"forward\" must be a whole number from 0");
  refused(R"({"placement": [[0]], "route": [0], "orders": [["0F0", "0B0", "5F9"]]})",
          "line 1, column 46: \"orders\": a pass must name an existing device");
  refused(R"({"placement": [[]], "route": [0], "orders": [[]]})",
          "line 1, column 15: \"placement\": counts must be at least 1");
  refused(R"({"placement": [[0, 1], [1]], "interval": 3, "cells": {}})",
          "line 1, column 15: \"placement\": tables must have an entry for each");
  std::string const two = R"({"placement": [0, 1], "interval": 3, "cells": {}, )";
  refused(two + R"("micro_batch_sizes": [0, 1]})",
          "line 1, column 72: \"micro_batch_sizes\": counts must be at least 1");
  refused(two + R"("stage_edges": [[0, 1], [1, 0]]})",
          "line 1, column 66: \"stage_edges\": every edge of the stage graph must lead to a higher");
  refused(two + R"("costs": {"speeds": [0, 5]}})",
          "line 1, column 60: \"costs\": the speed in percent on device 0 must be at least 1");
  refused(R"({"placement": [[0]], "route": [0], "orders": [["0B0", "0F0"]]})",
          "line 1, column 46: \"orders\": the devices' orders must not wait for each other in a cycle");
  refused(R"({"placement": [[0]], "route": [0], "orders": [["0F0", "0B0"]], "starts": [[0, 0]]})", "0");
  all_refused({{"show " + scratch_file("wrong.csv", "0F0,0Q0\n"), "line 1, column 5"},
               {"show /no/such.csv", "cannot read '/no/such.csv'"},
               {"show v-hafl", "did you mean 'v-half'?"}});
}

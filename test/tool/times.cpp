// Costs as decimal numbers and with units: exact inside, printed back as they were given.
#include "tool/refusals.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

nlohmann::json printed(std::string const& line) {
  tool_result const r = run_tool(line);
  CAPTURE(line);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

std::string const in_ms =
    " --forward 12.5ms --backward-input 20ms --backward-weight 7.5ms --transfer 500us";

}  // namespace

TEST_CASE("show prints times in the unit that was given") {
  // The step is four forwards, and four backwards of 27.5 ms.
  std::string const one = run_tool("show 1f1b -p 1 -m 4" + in_ms).out;
  CHECK(contains(one, "makespan     160 ms\n"));
  CHECK(contains(one, "bound        160 ms of makespan"));
  CHECK(contains(one, "     0   160     0 "));  // busy and idle
  CHECK(contains(run_tool("show 1f1b -p 2 -m 1" + in_ms).out, "makespan     81 ms\n"));
  CHECK(contains(run_tool("show 1f1b -p 1 -m 3 --forward 1.5").out, "makespan     10.5 ticks\n"));
  CHECK(contains(run_tool("show 1f1b -p 1 -m 2 --forward 2s").out, "makespan     8 s\n"));
  // The ruler counts units, too.
  std::string const ruler = run_tool("show 1f1b -p 1 -m 3 --forward 1.5 --width 80").out;
  CHECK(contains(ruler, " 0   2   4   6   8   10\n"));
}

TEST_CASE("compare, check, simulate and search, too") {
  auto const one = printed("compare 1f1b -p 1 -m 4 --as json" + in_ms)[0];
  CHECK(one["makespan"] == 160);
  CHECK(one["makespan_bound"] == 160);
  CHECK(one["time_unit"] == "ms");
  CHECK(contains(run_tool("compare 1f1b -p 1 -m 4" + in_ms).out, "Times are in ms"));
  CHECK(contains(run_tool("compare 1f1b -p 1 -m 4 --as csv" + in_ms).out, "1f1b,1,1,4,160,160,"));

  std::string const csv = (scratch() / "times.csv").string();
  CHECK(run_tool("emit 1f1b -p 1 -m 4 --as pytorch -o " + csv).code == 0);
  CHECK(contains(run_tool("check " + csv + in_ms).out, "makespan 160 ms, no less than 160, gap 0.00 %"));

  std::string const run = run_tool("simulate 1f1b -p 2 -m 1 --latency 1ms" + in_ms).out;
  CHECK(contains(run, "makespan  82 ms, "));
  CHECK(contains(run, "schedule  81 ms, "));
  auto const raw = printed("simulate 1f1b -p 2 -m 1 --as json" + in_ms);
  CHECK(raw["time_unit"] == "ms");
  CHECK(raw["makespan"].get<double>() / raw["ticks_per_unit"].get<double>() == 81);

  std::string const line = "search -p 2 -m 2 --placement linear --budget 20" + in_ms;
  std::string const found = run_tool(line).out;
  CHECK(contains(found, "span, ms"));
  CHECK(contains(found, " 106"));
  auto const json = printed(line + " --as json");
  CHECK(json["costs"]["time_unit"] == "ms");
  CHECK(json["costs"]["ticks_per_unit"] == json["unit"]);
}

TEST_CASE("ticks are as long as they can be, and JSON says how long") {
  auto const costs_of = [](std::string const& costs) {
    return printed("emit 1f1b -p 2 -m 2 --as json " + costs)["costs"];
  };
  auto const halves = costs_of(in_ms);
  CHECK(halves["ticks_per_unit"] == 2);
  CHECK(halves["per_stage"][0]["forward"] == 25);
  CHECK(halves["transfer"] == 1);
  CHECK(costs_of("--forward 1.25")["ticks_per_unit"] == 4);
  CHECK(!costs_of("--forward 1.25").contains("time_unit"));
  CHECK(!costs_of("--forward 2").contains("ticks_per_unit"));
  CHECK(costs_of("--forward 1ms --backward-input 1s --backward-weight 1us")["ticks_per_unit"] == 1000);
  CHECK(costs_of("--forward 1.0")["per_stage"][0]["forward"] == 1);
  // The file is read line by line; a missing figure is 1 of the unit.
  std::string const file = scratch_file("per_stage.csv", "1.5ms,2ms,1ms\n1ms,1ms,250us\n");
  CHECK(costs_of("--per-stage " + file)["per_stage"][1]["backward_weight"] == 1);
  CHECK(costs_of("--forward 2.5ms")["per_stage"][0]["backward_input"] == 2);
}

TEST_CASE("numbers as programs print them") {
  auto const forward = [](std::string const& given) {
    return printed("emit 1f1b -p 2 -m 2 --as json --forward "
                   + given)["costs"]["per_stage"][0]["forward"];
  };
  CHECK(forward("1.4e-02") == forward("0.014"));
  CHECK(forward("1.25E+1ms") == forward("12.5ms"));
  CHECK(forward("3e2") == 300);
  CHECK(forward("1.0000000000000") == 1);
  // Times finer than a tick are rounded, and a note says so, once.
  std::string const line =
      "show 1f1b -p 2 -m 2 --backward-input 1ms --backward-weight 1.99999999999ms --forward ";
  tool_result const fine = run_tool(line + "18.021643038418027ms");
  CHECK(fine.code == 0);
  CHECK(contains(fine.err, "note: times have 9 decimals"));
  CHECK(fine.err.find("note:") == fine.err.rfind("note:"));
  CHECK(fine.out == run_tool(line + "18.021643038ms").out);
  CHECK(run_tool("show 1f1b -p 2 -m 2 --forward 1.50000000000000").err.empty());
}

TEST_CASE("a header names the columns, in their order") {
  auto const costs_of = [](std::string const& text) {
    return "emit 1f1b -p 2 -m 2 --as json --per-stage " + scratch_file("header.csv", text);
  };
  std::string const lines = "3,2,1\n4,2,1\n";
  CHECK(printed(costs_of("# measured\nforward, backward_input, backward_weight\n" + lines))
        == printed(costs_of(lines)));
  all_refused({{costs_of("backward_input,forward,backward_weight\n" + lines),
                "the columns are `forward,backward_input,backward_weight`, in this order"}});
  all_refused({{costs_of(lines + "forward,backward_input,backward_weight\n"), "line 3"}});
}

TEST_CASE("a file keeps its unit") {
  std::string const file = (scratch() / "in_ms.json").string();
  CHECK(run_tool("emit zb-h1 -p 2 -m 4 --as json -o " + file + in_ms).code == 0);
  CHECK(run_tool("emit " + file + " --as json").out == content(file));
  CHECK(contains(run_tool("show " + file).out, " ms\n"));
  CHECK(contains(run_tool("check " + file).out, " ms, no less than"));
  CHECK(contains(run_tool("search --start " + file + " --budget 5").out, "span, ms"));
  CHECK(contains(run_tool("simulate " + file + " --latency 1ms").out, "makespan  "));
  all_refused({{"simulate " + file + " --latency 3", "--latency has no unit, but other times are in ms"},
               {"simulate " + file + " --latency 1us", "--latency is no whole number of ticks"}});
}

TEST_CASE("pairs that run overlapped") {
  auto const makespan_with = [](std::string const& more) {
    auto const s = printed("emit dualpipev -p 2 -m 8 --as json " + more);
    CHECK(s["makespan_bound"] <= s["makespan"]);
    return s["makespan"].get<int>();
  };
  CHECK(makespan_with("--overlapped 2") < makespan_with(""));
  CHECK(makespan_with("--overlapped 3") == makespan_with(""));
  CHECK(printed("emit dualpipev -p 2 -m 8 --as json --overlapped 2.5")["costs"]["overlapped"] == 5);
}

TEST_CASE("pictures count times in the unit that they were given in") {
  std::string const line = "emit 1f1b -p 2 -m 2 --as svg --forward ";
  std::string const ticks = run_tool(line + "3").out, ms = run_tool(line + "2.5ms --backward-input 3ms "
                                                                          "--backward-weight 2.5ms").out;
  CHECK(contains(ticks, ">ticks</text>"));
  CHECK(contains(ms, ">ms</text>"));
  CHECK(!contains(ms, "ticks"));
  CHECK(contains(ms, "0F0: device 0, ms 0 to 2.5"));
}

TEST_CASE("times that are none") {
  all_refused({{"show 1f1b --forward 1.5m",
                "--forward must be a time like 3, 1.5, 12.5ms, 800us or 2s, not '1.5m'"},
               {"show 1f1b --forward .5", "--forward"},
               {"show 1f1b --forward 1.", "--forward"},
               {"show 1f1b --forward -1.5", "--forward"},
               {"show 1f1b --forward 1e", "--forward"},
               {"show 1f1b --forward 1e99999", "--forward"},
               {"show 1f1b --forward 1.5e+3q", "--forward"},
               {"show 1f1b --forward ms", "--forward"},
               {"show 1f1b --forward 1.5,2", "--forward"},
               {"show 1f1b --forward 99999999999999999999.5", "--forward"},
               {"show 1f1b --forward 1ms --transfer 1", "--transfer has no unit, but other times have"},
               {"show 1f1b --forward 2305843009213693950.5", "--forward"},
               {"show 1f1b --forward 1000000000000s --backward-input 0.000000001ns", "out of the range"},
               {"show 1f1b --overlapped 0", "--overlapped"}});
  CHECK(run_tool("show 1f1b --forward 1ms --transfer 0").code == 0);
}

TEST_CASE("bytes in a unit of time need not be a whole number in a tick") {
  auto const makespan = [](std::string const& bandwidth) {
    nlohmann::json const s = nlohmann::json::parse(
        run_tool("simulate 1f1b -p 2 -m 1 --as json --bytes 12 --forward 1.5 --bandwidth " + bandwidth)
            .out);
    return s["makespan"].get<double>() / s.value("ticks_per_unit", 1.0);
  };
  double const fast = makespan("0");
  CHECK(makespan("3") == fast + 8);  // two messages of 4 ticks
  CHECK(makespan("8") == fast + 3);
}

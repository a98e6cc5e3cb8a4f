// `ashlar profile`, commands that read its file as --costs, and trainings that adapt to it.
#include "tool/refusals.hpp"
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace training_test;

namespace {

// A stage of 2, 3 and 1 ms and one of twice that; links of 1 ms and as much for a message in a node.
std::string costs_by_hand() {
  return scratch_file("by_hand.json", R"({"costs": {
  "unit": "ms",
  "stages": [{"forward": 2, "backward_input": {"median": 3, "samples": 7}, "backward_weight": 1},
             {"forward": 4, "backward_input": 6, "backward_weight": 2}],
  "message_bytes": 1000000,
  "links": {"inside": {"latency": 1, "bytes_per_second": 1e9},
            "between": {"latency": 10, "bytes_per_second": 1e8}, "node_size": 2},
  "collective": {"latency": 5, "bytes_per_second": 1e9}
}})");
}

nlohmann::json json_out(std::string const& line) {
  tool_result const r = run_tool(line);
  INFO(r.err);
  CHECK(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// The costs of four stages, the last of which takes `last` times as long.
std::string uneven_costs(int last) {
  std::string stages;
  for (int stage = 0; stage < 4; ++stage) {
    int const times = stage == 3 ? last : 1;
    stages += std::string(stage > 0 ? "," : "") + R"({"forward": )" + std::to_string(times)
              + R"(, "backward_input": )" + std::to_string(2 * times) + R"(, "backward_weight": 1})";
  }
  return scratch_file("uneven.json", R"({"costs": {"unit": "us", "stages": [)" + stages + "]}}");
}

}  // namespace

TEST_CASE("profile measures passes, messages and sums, and what it writes is read") {
  std::string const file = (scratch() / "costs.json").string();
  for (char const* schedule : {"zb-h1", "1f1b"}) {
    CAPTURE(schedule);
    tool_result const r = run_tool("profile --schedule " + std::string(schedule)
                                   + " -p 2 -m 4 --repeats 3 -o " + file + tiny + corpus());
    INFO(r.err);
    REQUIRE(r.code == 0);
    CHECK(contains(r.out, "backward_weight"));
    CHECK(contains(r.out, "a message: "));
    auto const costs = nlohmann::json::parse(content(file))["costs"];
    REQUIRE(costs["stages"].size() == 2);
    CHECK(costs["message_bytes"] == 16 * 16 * 4);
    CHECK(costs["measured"]["schedule"] == schedule);
    for (auto const& stage : costs["stages"])
      for (char const* kind : {"forward", "backward_input", "backward_weight"}) {
        auto const& s = stage[kind];
        CHECK(s["samples"] == 12);
        CHECK(s["lower_quartile"].get<double>() > 0);
        CHECK(s["lower_quartile"] <= s["median"]);
        CHECK(s["median"] <= s["upper_quartile"]);
      }
    CHECK(costs["links"]["inside"]["latency"]["samples"] == 15);
    CHECK(costs["collective"]["latency"]["median"].get<double>() >= 0);
    tool_result const trained = run_tool("train --schedule " + std::string(schedule)
                                         + " -p 2 -m 4 --steps 3 --costs " + file + tiny + corpus());
    CHECK(trained.code == 0);
    CHECK(contains(trained.out, ", half of them "));
    CHECK(contains(trained.out, "\npredicted with the costs of '" + file + "': "));
    CHECK(contains(trained.out, "\nsimulated with the pass times of all 3 steps: "));
    CHECK(contains(trained.out, " than predicted\n"));
  }
  std::string const line = " -p 2 -m 4 --costs " + file;
  for (char const* command : {"show 1f1b", "emit zb-h1 --as json", "compare 1f1b zb-h1", "simulate 1f1b",
                              "search --placement linear --budget 20"})
    CHECK(run_tool(command + line).err.empty());
}

TEST_CASE("costs from a file are those of its unit, its links and its sums") {
  std::string const line = " -p 2 -m 1 --costs " + costs_by_hand();
  // The step is 2, a message of 1 + 1, 4 + 8, a message, 4.
  CHECK(contains(run_tool("show 1f1b" + line).out, "makespan     22 ms"));
  auto const emitted = json_out("emit 1f1b --as json" + line);
  CHECK(emitted["costs"]["ticks_per_unit"] == 1000);
  CHECK(emitted["costs"]["per_stage"][1]["backward_input"] == 6000);
  CHECK(json_out("simulate 1f1b --as json" + line)["makespan"] == 22'000);
  CHECK(json_out("simulate 1f1b --as json --node-size 1" + line)["makespan"] == 22'000 + 2 * 18'000);
  CHECK(json_out("simulate 1f1b --as json --bytes 0" + line)["makespan"] == 20'000);
  // There are 2 ranks, two steps of 5 ms, and a million bytes in a ms.
  auto const summed = json_out("simulate 1f1b --as json --data-ranks 2 --gradient-bytes 1000000" + line);
  CHECK(summed["makespan"] == 22'000 + 11'000);
  auto const events =
      nlohmann::json::parse(run_tool("simulate 1f1b --as trace" + line).out)["traceEvents"];
  for (auto const& e : events)
    if (e["name"] == "1F0") CHECK(e["dur"] == 4000.0);  // microseconds
}

TEST_CASE("a file of costs that is none is refused, with the place") {
  int count = 0;
  auto const with = [&count](std::string const& costs) {
    std::string const name = "wrong" + std::to_string(count++) + ".json";
    return "show 1f1b -p 1 -m 1 --costs " + scratch_file(name, "{\"costs\": " + costs + "}");
  };
  std::string const stage = R"({"forward": 1, "backward_input": 1, "backward_weight": 1})";
  all_refused(
      {{with("{}"), "lacks \"unit\""},
       {with(R"({"unit": "h"})"), "\"unit\" must be ns, us, ms or s"},
       {with(R"({"unit": "s"})"), "lacks \"stages\""},
       {with(R"({"unit": "s", "stages": []})"), "must have a stage"},
       {with(R"({"unit": "s", "stages": [{"forward": 1}]})"), "lacks \"backward_input\""},
       {with(R"({"unit": "s", "stages": [{"forward": -1}]})"), "\"forward\" must be a number from"},
       {with(R"({"unit": "s", "stages": [{"forward": "1"}]})"), "line 1, column "},
       {with(R"({"unit": "s", "message_bytes": -1, "stages": [)" + stage + "]}"), "whole number"},
       {with(R"({"unit": "s", "links": {}, "stages": [)" + stage + "]}"), "lacks \"inside\""},
       {"show 1f1b -p 3 --costs " + costs_by_hand(), "has costs of 2 stages, but 1f1b on 3 devices"},
       {"show 1f1b -p 2 --forward 2 --costs " + costs_by_hand(), "excludes"},
       {"search -p 2 --costs " + costs_by_hand(), "--costs names the stages of one placement"},
       {"show 1f1b --costs /no/such/file", "cannot read '/no/such/file'"}});
}

TEST_CASE("a training that adapts learns the same bits, in less simulated time") {
  std::string const line = "train --schedule hanayo -p 2 -m 4 --steps 4" + tiny + corpus();
  std::string const plain = fresh_folder("plain"), adapted = fresh_folder("adapted");
  CHECK(run_tool(line + " --save " + plain).code == 0);
  tool_result const r =
      run_tool(line + " --verify --adapt 2 --costs " + uneven_costs(2) + " --save " + adapted);
  INFO(r.out);
  CHECK(r.code == 0);
  CHECK(contains(r.out,
                 "after 2 steps: another program, proved, with the same sums in the same memory: "));
  CHECK(contains(r.out, "\nsimulated with the pass times of all 2 steps: "));
  CHECK(contains(r.out, "with the program before, a step took "));
  CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
  CHECK(learned_after(adapted, 4) == learned_after(plain, 4));
  std::string const stepped = fresh_folder("stepped");
  tool_result const own = run_tool(line + " --optimizer-step after-norm --verify --adapt 2 --costs "
                                   + uneven_costs(2) + " --save " + stepped);
  INFO(own.out);
  CHECK(contains(own.out, "after 2 steps: another program, proved, "));
  CHECK(learned_after(stepped, 4) == learned_after(plain, 4));
}

TEST_CASE("a training keeps its program where no better one is found, or it would need more memory") {
  tool_result const r =
      run_tool("train --schedule 1f1b -p 1 -m 2 --steps 2 --adapt 1" + tiny + corpus());
  CHECK(r.code == 0);
  CHECK(contains(r.out, "after 1 step: the program stays, "));
  CHECK(contains(r.out, "no order of its passes was found that takes less"));
  tool_result const again =
      run_tool("train --schedule 1f1b-recompute -p 2 -m 2 --steps 2 --adapt 1" + tiny + corpus());
  CHECK(contains(again.out, "no search changes recomputes, overlapped pairs and work"));
  tool_result const larger = run_tool("train --schedule v-half -p 2 -m 4 --steps 2 --adapt 1 --costs "
                                      + uneven_costs(1) + tiny + corpus());
  CHECK(larger.code == 0);
  CHECK(contains(larger.out, "one that takes less is refused: device 0 would need "));
}

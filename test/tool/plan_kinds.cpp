// `ashlar plan` on clusters of several kinds of devices, from end to end.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace {

// Nodes of two devices each, whose figures a test may change.
nlohmann::json node_kind(char const* name, int nodes, double flops, double memory) {
  return {{"name", name},
          {"nodes", nodes},
          {"devices_per_node", 2},
          {"flops", flops},
          {"node_bytes_per_s", 450e9},
          {"network_bytes_per_s", 50e9},
          {"memory_bytes", memory}};
}

std::string kinds_file(char const* name, std::vector<nlohmann::json> const& kinds) {
  return scratch_file(name, nlohmann::json{{"kinds", kinds}}.dump(1));
}

std::string asked_on(std::string const& cluster) {
  return "plan --model 8B --sequence 4096 --batch 16 --top 5 --schedules 1f1b,interleaved --cluster "
         + cluster + " ";
}

nlohmann::json planned_on(std::string const& cluster) {
  tool_result const r = run_tool(asked_on(cluster) + "--as json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// The mean number of layers of a plan's stages on each of a kind's devices.
double layers_on(nlohmann::json const& plan, std::string const& kind) {
  double sum = 0, stages = 0;
  for (std::size_t i = 0; i < plan["layers"].size(); ++i)
    if (plan["kinds"][i] == kind) {
      sum += plan["layers"][i].get<double>();
      ++stages;
    }
  return stages > 0 ? sum / stages : 0;
}

}  // namespace

TEST_CASE("plan: a file that lists one kind is planned as one without a list") {
  nlohmann::json plain = node_kind("", 8, 989e12, 80e9);
  plain.erase("name");
  auto const listed = planned_on(kinds_file("listed_kind.json", {node_kind("H100", 8, 989e12, 80e9)})),
             whole = planned_on(scratch_file("plain_kind.json", plain.dump()));
  for (std::size_t i = 0; i < whole["plans"].size(); ++i)
    CHECK(listed["plans"][i]["seconds"] == whole["plans"][i]["seconds"]);
  CHECK(!whole["plans"][0].contains("kinds"));
}

TEST_CASE("plan: slower devices get fewer layers, and each holds no more than its own kind may") {
  std::vector<nlohmann::json> kinds{node_kind("fast", 4, 989e12, 80e9),
                                    node_kind("slow", 4, 312e12, 60e9)};
  auto const both = planned_on(kinds_file("both.json", kinds));
  CHECK(both["memory_budgets"]["fast"].get<double>() < 80e9);
  CHECK(both["memory_budgets"]["slow"].get<double>() < 60e9);
  CHECK(!both.contains("memory_budget"));
  // Data ranks of both kinds hold no more than the smaller may.
  for (auto const& plan : both["plans"]) {
    double const may = plan["kind"] == "fast" ? 80e9 : 60e9;
    CHECK(plan["kinds"].size() == plan["layers"].size());
    CHECK(plan["bytes"].get<double>() <= plan["budget"].get<double>());
    CHECK(plan["budget"].get<double>() < may);
    if (plan["pipeline"] == 1 || layers_on(plan, "slow") == 0 || layers_on(plan, "fast") == 0) continue;
    CHECK(layers_on(plan, "slow") < layers_on(plan, "fast"));
  }
  // It is worth more than the fast ones alone, which are among the plans.
  double const seconds = both["plans"][0]["seconds"];
  CHECK(planned_on(kinds_file("fast.json", {kinds[0]}))["plans"][0]["seconds"] >= seconds);
}

TEST_CASE("plan: pipelines of one kind each share the batch by speed") {
  std::vector<nlohmann::json> kinds{node_kind("new", 4, 989e12, 80e9),
                                    node_kind("old", 4, 330e12, 80e9)};
  nlohmann::json const found = planned_on(kinds_file("slower.json", kinds))["shared_batch"];
  double longest = 0;
  int all = 0;
  REQUIRE(found["shares"].size() == 2);
  for (nlohmann::json const& each : found["shares"]) {
    longest = std::max(longest, each["seconds"].get<double>());
    all += each["sequences"].get<int>();
  }
  CHECK(all == 16);
  CHECK(found["shares"][0]["kind"] == "new");
  CHECK(found["shares"][0]["sequences"].get<int>() > 8);
  CHECK(found["seconds"].get<double>() == doctest::Approx(longest + found["sum"].get<double>()));
  kinds.pop_back();
  CHECK(!planned_on(kinds_file("one_kind.json", kinds)).contains("shared_batch"));
}

TEST_CASE("plan: the report says which kind runs what, and predict has the same of the plan") {
  tool_result const r = run_tool(asked_on("2x8xH100+2x8xA100"));
  REQUIRE(r.code == 0);
  for (char const* part : {"2x8xH100+2x8xA100-80, 32 devices", "kinds (layers)",
                           "Pipelines of one kind each, which share the batch by speed: "})
    CHECK_MESSAGE(contains(r.out, part), part);
  auto const plan = planned_on("2x8xH100+2x8xA100")["plans"][0];
  auto const alone = nlohmann::json::parse(run_tool("predict --as json --model 8B --cluster "
                                                    + plan["cluster"].get<std::string>() + " "
                                                    + plan["options"].get<std::string>())
                                               .out);
  CHECK(alone["step_seconds"] == plan["seconds"]);
  CHECK(alone["peak_bytes"] == plan["bytes"]);
}

TEST_CASE("plan: what is wrong with a cluster of kinds") {
  nlohmann::json const fast = node_kind("fast", 4, 989e12, 80e9),
                       slow = node_kind("slow", 4, 312e12, 40e9);
  auto const refused = [&](std::string const& cluster, std::string const& why) {
    tool_result const r = run_tool(asked_on(cluster));
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK_MESSAGE(contains(r.err, why), why);
  };
  auto const changed = [](nlohmann::json kind, char const* key, nlohmann::json const& value) {
    if (value.is_null())
      kind.erase(key);
    else
      kind[key] = value;
    return kind;
  };
  auto const file = [](std::vector<nlohmann::json> const& kinds) {
    return kinds_file("wrong.json", kinds);
  };
  refused(file({fast, changed(slow, "memory", 1e9)}), "\"memory\" means nothing here");
  refused(file({fast, changed(slow, "memory", 1e9)}), "line 15, column 14");
  refused(file({fast, changed(slow, "memory_bytes", nullptr)}), "lacks \"memory_bytes\"");
  refused(file({fast, changed(slow, "name", nullptr)}), "must have a \"name\"");
  refused(file({fast, changed(slow, "name", "a+b")}), "must have a \"name\"");
  refused(file({fast, changed(slow, "name", "fast")}), "has the name of another kind, \"fast\"");
  refused(file({fast, changed(slow, "nodes", 499999)}),
          "makes more than 1000000 devices with the others");
  refused(file({fast, changed(slow, "nodes", 0)}), "\"nodes\" must be");
  refused(file({}), "\"kinds\" must have an object");
  refused(file({fast, slow, changed(slow, "name", "c"), changed(slow, "name", "d"),
                changed(slow, "name", "e")}),
          "at most 4");
  refused(scratch_file("wrong.json", nlohmann::json{{"kinds", {fast, slow}}, {"nodes", 8}}.dump()),
          "\"nodes\" means nothing here");
  refused(scratch_file("wrong.json", nlohmann::json{{"kinds", nlohmann::json::array({fast})},
                                                    {"between_kinds_bytes_per_s", 1e9}}
                                         .dump()),
          "one kind alone");
  refused("1x8xH100+1x8xH100", "names H100 twice");
  refused("1x8xH100+", "is not NODESxDEVICESxKIND");
  refused("100000x8xH100+100000x8xA100", "must have at most 1000000 devices");
  // A list says which kind it was measured on, and only that is planned.
  std::string const listed =
      scratch_file("of_one.json", R"({"sequence": 128, "measured": [{"kind": "H100",
      "layers": [{"forward_ms": 1, "backward_ms": 2, "parameters": 9, "kept_bytes": 9, "output_bytes": 9,
      "count": 8}]}]})");
  tool_result const on_one = run_tool("plan --batch 8 --model " + listed
                                      + " --cluster 1x2xH100+1x2xA100 --fix pipeline=2,tensor=1");
  CHECK(on_one.code == 0);
  CHECK(contains(on_one.out, "tensor ranks that the model's layers were not measured on"));
}

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
  return "plan --model 8B --sequence 4096 --batch 16 --search 0 --top 5 --cluster " + cluster + " ";
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
  CHECK(listed == whole);
  CHECK(!whole["plans"][0].contains("kinds"));
}

TEST_CASE("plan: two kinds alike make the best step of one, and which is first does not matter") {
  auto const one = planned_on(kinds_file("one.json", {node_kind("left", 8, 312e12, 80e9)})),
             two = planned_on(kinds_file(
                 "two.json", {node_kind("left", 4, 312e12, 80e9), node_kind("right", 4, 312e12, 80e9)})),
             turned = planned_on(kinds_file("turned.json", {node_kind("right", 4, 312e12, 80e9),
                                                            node_kind("left", 4, 312e12, 80e9)}));
  CHECK(two["plans"][0]["seconds"] == one["plans"][0]["seconds"]);
  CHECK(two["plans"][0]["bytes"] == one["plans"][0]["bytes"]);
  CHECK(two["plans"][0]["utilisation"] == one["plans"][0]["utilisation"]);
  CHECK(turned["plans"][0]["seconds"] == one["plans"][0]["seconds"]);
}

TEST_CASE("plan: slower devices get fewer layers, and each holds no more than its own kind may") {
  std::vector<nlohmann::json> kinds{node_kind("fast", 4, 989e12, 80e9),
                                    node_kind("slow", 4, 312e12, 40e9)};
  auto const both = planned_on(kinds_file("both.json", kinds));
  CHECK(both["memory_budgets"]["fast"] == 0.9 * 80e9);
  CHECK(both["memory_budgets"]["slow"] == 0.9 * 40e9);
  CHECK(!both.contains("memory_budget"));
  // Data ranks of both kinds hold no more than the smaller may.
  auto const allowed = [](nlohmann::json const& plan) {
    return plan["kind"] == "fast" ? 0.9 * 80e9 : 0.9 * 40e9;
  };
  bool is_met = false;
  for (auto const& plan : both["plans"]) {
    CHECK(plan["kinds"].size() == plan["layers"].size());
    CHECK(plan["budget"] == allowed(plan));
    CHECK(plan["bytes"].get<double>() <= allowed(plan));
    if (plan["pipeline"] == 1 || layers_on(plan, "slow") == 0) continue;
    is_met = true;
    CHECK(layers_on(plan, "slow") < layers_on(plan, "fast"));
  }
  CHECK(is_met);
  REQUIRE(!both["rejected"].empty());
  for (auto const& plan : both["rejected"]) {
    CHECK(plan["budget"] == allowed(plan));
    CHECK(plan["bytes"].get<double>() > allowed(plan));
  }
  // It is worth more than the fast ones alone, which are among the plans; more memory makes it no worse.
  double const seconds = both["plans"][0]["seconds"];
  CHECK(planned_on(kinds_file("fast.json", {kinds[0]}))["plans"][0]["seconds"] >= seconds);
  for (nlohmann::json& kind : kinds) {
    kind["memory_bytes"] = 2 * kind["memory_bytes"].get<double>();
    CHECK(planned_on(kinds_file("more.json", kinds))["plans"][0]["seconds"] <= seconds);
  }
}

TEST_CASE("plan: pipelines of one kind each share the batch by speed") {
  std::vector<nlohmann::json> kinds{node_kind("new", 4, 989e12, 80e9),
                                    node_kind("old", 4, 989e12, 80e9)};
  auto const shared = [&](char const* name) {
    nlohmann::json const found =
        planned_on(kinds_file(name, kinds) + " --schedules 1f1b")["shared_batch"];
    double longest = 0;
    int all = 0;
    REQUIRE(found["shares"].size() == 2);
    for (nlohmann::json const& each : found["shares"]) {
      longest = std::max(longest, each["seconds"].get<double>());
      all += each["sequences"].get<int>();
    }
    CHECK(all == 16);
    CHECK(found["shares"][0]["kind"] == "new");
    CHECK(found["seconds"].get<double>() == doctest::Approx(longest + found["sum"].get<double>()));
    return found;
  };
  auto const alike = shared("alike.json");
  CHECK(alike["shares"][0]["sequences"] == 8);
  kinds[1]["flops"] = 330e12;
  auto const slower = shared("slower.json");
  CHECK(slower["shares"][0]["sequences"].get<int>() > 8);
  CHECK(slower["seconds"] >= alike["seconds"]);
  tool_result const said = run_tool(asked_on(kinds_file("said.json", kinds)) + "--schedules 1f1b");
  CHECK(contains(said.out, "Pipelines of one kind each, which share the batch by speed: "));
  kinds[1]["memory_bytes"] = 1e9;
  tool_result const small = run_tool(asked_on(kinds_file("small.json", kinds)) + "--schedules 1f1b");
  CHECK(
      contains(small.out, "Pipelines of one kind each: none, because some kind cannot hold the model"));
  kinds.pop_back();
  CHECK(!planned_on(kinds_file("one_kind.json", kinds)).contains("shared_batch"));
}

TEST_CASE("plan: the report says which kind runs what, and what the others would") {
  tool_result const r = run_tool(asked_on("2x8xH100+2x8xA100") + "--explain");
  REQUIRE(r.code == 0);
  for (char const* part : {"32 devices of 2 kinds, between them the slower one's network",
                           "  H100: 16 devices of 989 TFLOP/s", "  A100-80: 16 devices of 312 TFLOP/s",
                           "kinds (layers)", "H100 alone: ", "A100-80 alone: ", " TFLOP/s of H100:",
                           " of each pipeline (", "GiB of H100 and 72.0 GiB of A100-80", "  kind\n"})
    CHECK_MESSAGE(contains(r.out, part), part);
  // Plans that fit on neither kind are rejected with the device, its kind and the bytes.
  tool_result const large = run_tool("plan --model 175B --batch 16 --cluster 1x2xH100+1x2xA100");
  CHECK(large.code == 1);
  CHECK(contains(large.out, "device 0 of each pipeline ("));
  CHECK(contains(large.out, " of 72.0 GiB: weights and logits"));
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
  refused(file({fast, changed(slow, "nodes", 8192)}), "makes more than 16384 devices with the others");
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
  refused("1024x8xH100+1025x8xA100", "must be of 1 to 16384 devices");
  // These figures are of one kind alone.
  std::string const listed = scratch_file("of_one.json", R"({"sequence": 128, "measured": [{"layers": [
      {"forward_ms": 1, "backward_ms": 2, "parameters": 9, "kept_bytes": 9, "output_bytes": 9}]}]})");
  CHECK(contains(run_tool("plan --batch 8 --model " + listed + " --cluster 1x2xH100+1x2xA100").err,
                 "measured layers are those of one kind of device"));
  std::string const wide = scratch_file("of_fp32.json", R"({"layers": 2, "hidden": 8, "heads": 2,
      "vocabulary": 9, "sequence": 4, "precision": "fp32"})");
  CHECK(contains(run_tool("plan --batch 8 --model " + wide + " --cluster "
                          + file({changed(fast, "flops_fp32", 67e12), slow}))
                     .err,
                 "\"flops_fp32\" of slow"));
}

// `ashlar tradeoff` from end to end.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace {

std::string const model = " --model " ASHLAR_TEST_DATA "/tradeoff/model.json";
std::string const cluster = " --cluster " ASHLAR_TEST_DATA "/tradeoff/cluster.json";

std::string written(char const* name, std::string const& text) {
  auto const path = scratch() / name;
  std::ofstream(path) << text;
  return path.string();
}

}  // namespace

TEST_CASE("tradeoff as text, JSON and picture") {
  tool_result const text = run_tool("tradeoff" + model + cluster);
  CHECK(text.code == 0);
  CHECK(text.out.find("breadth-first") != std::string::npos);
  CHECK(text.out.find("utilisation  at most  gap %") != std::string::npos);

  std::string const small = written("small.json", R"({"pipeline": 8, "loops": [1, 4, 8],
      "micro_batches": [8, 16, 32], "devices": [64, 256, 1024], "blocking": ["depth-first"],
      "schedules": ["breadth-first", "depth-first", "gpipe"]})");
  auto const all =
      nlohmann::json::parse(run_tool("tradeoff --as json" + model + " --cluster " + small).out);
  REQUIRE(all.size() == 3);
  for (auto const& s : all) {
    double last_time = 1e300, last_cost = 0;
    for (auto const& p : s["best"]) {  // the larger the cluster, the faster and the dearer
      CHECK(p["time"].get<double>() < last_time);
      CHECK(p["cost"].get<double>() > last_cost);
      double const share = 1 + p["gap"].get<double>();
      CHECK(p["cost"].get<double>() == doctest::Approx(share * p["cost_bound"].get<double>()));
      CHECK(p["time"].get<double>() == doctest::Approx(share * p["time_bound"].get<double>()));
      last_time = p["time"];
      last_cost = p["cost"];
    }
    for (auto const& p : s["utilisation"]) {
      CHECK(p["utilisation"].get<double>() > 0);
      CHECK(p["utilisation"] <= p["utilisation_bound"]);
      CHECK(p["utilisation_bound"].get<double>() <= 1);
    }
  }
  // Breadth-first is ahead with small batches a device.
  CHECK(all[0]["schedule"] == "breadth-first");
  CHECK(all[0]["best"].back()["cost"].get<double>() < all[1]["best"].back()["cost"].get<double>());
  CHECK(run_tool("tradeoff --as svg" + model + cluster).out.starts_with("<svg"));
}

TEST_CASE("a schedule of one's own in a tradeoff") {
  std::string const block = written("block_of_two.json", R"({"placement": [0, 1], "interval": 3,
      "cells": {"0F": 0, "1F": 1, "1B": 2, "0B": 4}})");
  std::string const csv = written("alternate.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  auto const with = [](std::string const& names) {
    return " --cluster " + written("own.json", R"({"pipeline": 2, "loops": [1], "micro_batches": [2, 4],
        "devices": [4], "schedules": [)" + names + "]}");
  };
  auto const all = nlohmann::json::parse(
      run_tool("tradeoff --as json" + model + with("\"1f1b\", \"" + block + "\", \"" + csv + "\"")).out);
  REQUIRE(all.size() == 3);
  CHECK(all[0]["utilisation"] == all[1]["utilisation"]);
  CHECK(all[2]["utilisation"].size() == 1);  // the number of micro-batches that it has
  CHECK(all[2]["schedule"] == "alternate");
  CHECK(run_tool("tradeoff" + model + with("\"/no/such.json\"")).code == 2);
  std::string const three = written("three.csv", "0F0,0B0\n1F0,1B0\n2F0,2B0\n");
  CHECK(contains(run_tool("tradeoff" + model + with("\"" + three + "\"")).err, "is for 3 devices"));
}

TEST_CASE("files that do not say what they must") {
  std::string const good = R"({"layers": 64, "forward": 10, "backward": 30, "critical_batch": 100})";
  for (std::string const wrong :
       {"", "[]", "{", R"({"layers": 64})",
        R"({"layers": 0, "forward": 1, "backward": 2, "critical_batch": 1})",
        R"({"layers": 64, "forward": 1.5, "backward": 2, "critical_batch": 1})",
        R"({"layers": 64, "forward": 1, "backward": 2, "critical_batch": 1, "foward": 2})",
        R"({"layers": 64, "forward": 1, "backward": 1e300, "critical_batch": 1})"}) {
    CAPTURE(wrong);
    tool_result const r = run_tool("tradeoff --model " + written("wrong.json", wrong) + cluster);
    CHECK(r.code == 2);
    CHECK(r.err.find("wrong.json") != std::string::npos);
  }
  std::string const right = " --model " + written("right.json", good);
  for (
      std::string const wrong :
      {R"({"pipeline": 8, "loops": [1], "micro_batches": [8], "devices": [12], "schedules": ["gpipe"]})",
       R"({"pipeline": 8, "loops": [], "micro_batches": [8], "devices": [16], "schedules": ["gpipe"]})",
       R"({"pipeline": 8, "loops": [3], "micro_batches": [8], "devices": [16], "schedules": ["breadth-first"]})",
       R"({"pipeline": 8, "loops": [1], "micro_batches": [8], "devices": [16], "schedules": ["none"]})"}) {
    CAPTURE(wrong);
    CHECK(run_tool("tradeoff" + right + " --cluster " + written("cluster.json", wrong)).code == 2);
  }
}

TEST_CASE("JSON that is none has a place, keys are there once, lists are limited together") {
  auto const said = [](std::string const& text) {
    tool_result const r = run_tool("tradeoff" + model + " --cluster " + written("said.json", text), 5);
    CHECK(r.code == 2);
    return r.err;
  };
  CHECK(contains(said("{\"pipeline\": 8,\n \"loops\": [1,]}"),
                 "said.json', line 2, column 14: syntax error"));
  CHECK(contains(said("{\"pipeline\": 8"), "said.json', line 1, column 15: "));
  CHECK(contains(said("{\"pipeline\": 8}\n x"), "said.json', line 2, column 2: "));
  CHECK(contains(said("{\"pipeline\": 8,\n  \"loops\": [1], \"loops\": [2]}"),
                 "said.json', line 2, column 17: \"loops\" is there twice"));
  CHECK(
      contains(said("{\"pipeline\": 1e999}"), "said.json', line 1, column 14: the number is too large"));

  std::string const front = R"({"pipeline": 2, "loops": [1], "devices": [8], "schedules": ["gpipe"], )";
  CHECK(run_tool("tradeoff" + model + " --cluster "
                 + written("empty.json", front + R"("micro_batches": [8], "blocking": []})"))
            .code
        == 0);
  // More values than that in one list are fine, if the product is small.
  std::string many = "8";
  for (int i = 1; i < 1200; ++i) many += "," + std::to_string(8 + i % 4);
  CHECK(run_tool("tradeoff" + model + " --cluster "
                 + written("many.json", front + R"("micro_batches": [)" + many + "]}"))
            .code
        == 0);
  std::string const three =
      R"({"pipeline": 2, "loops": [1,2,4], "devices": [8], "schedules": ["gpipe", "1f1b", "zb-h1"], )";
  CHECK(contains(
      said(three + R"("micro_batches": [)" + many + "]}"),
      "asks for 10800 schedules (3 of 3 loops and 1200 micro-batches each); the limit is 10000"));
  CHECK(contains(said(front + R"("micro_batches": []})"), "\"micro_batches\" must have a number"));
}

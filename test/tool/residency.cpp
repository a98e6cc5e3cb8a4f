// Plans of residency in simulate.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace {

std::string const gathering =
    "simulate depth-first -p 4 -m 16 -v 4 --forward 400 --backward-input 400 --backward-weight 400 "
    "--data-ranks 2 --sharding weights --weight-bytes 800 --gradient-bytes 800 --stash-bytes 400 "
    "--ring-latency 700";

nlohmann::json planned_run(std::string const& more) {
  tool_result const r = run_tool(gathering + more + " --as json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

long long most_held(nlohmann::json const& run) {
  long long most = 0;
  for (auto const& device : run.at("by_device"))
    most = std::max(most, device.at("memory").at("peak").get<long long>());
  return most;
}

}  // namespace

TEST_CASE("a plan of residency is no longer than PyTorch's, and within its limit") {
  nlohmann::json const three = planned_run(" --resident 3");
  long long const by_pytorch = three.at("weights").at("by_pytorch").at("makespan").get<long long>();
  CHECK(three.at("makespan").get<long long>() <= by_pytorch);
  CHECK(three.at("weights").at("gathers") < three.at("weights").at("by_pytorch").at("gathers"));
  CHECK(!planned_run("").contains("weights"));
  // The last devices have room for more stages.
  long long const limit = most_held(three);
  nlohmann::json const limited = planned_run(" --resident 4 --limit-bytes " + std::to_string(limit));
  CHECK(most_held(limited) <= limit);
  CHECK(limited.at("makespan").get<long long>() < by_pytorch);
  CHECK(contains(run_tool(gathering + " --resident 3").out, "by PyTorch's rule with three stages"));
}

TEST_CASE("a simulated plan is written for PyTorch, and checked") {
  std::string const file = (scratch() / "planned.csv").string();
  tool_result const r = run_tool(gathering + " --resident 2 --as pytorch-comms -o " + file);
  CAPTURE(r.err);
  CHECK(r.code == 0);
  for (char const* word : {"0UNSHARD", "12RESHARD", "5REDUCE_GRAD"})
    CHECK(contains(content(file), word));
  CHECK(run_tool("check " + file).code == 0);
}

// At a byte a tick, copies are in the way of passes.
TEST_CASE("shards on the host: its memory and its link, and not the device's memory") {
  nlohmann::json const near = planned_run(" --resident 2 --optimizer-bytes 800"),
                       far = planned_run(
                           " --resident 2 --optimizer-bytes 800 --shards host --host-bandwidth 1");
  CHECK(far.at("makespan") > near.at("makespan"));
  for (std::size_t d = 0; d < 4; ++d) {
    nlohmann::json const &device = near.at("by_device")[d], &on_host = far.at("by_device")[d];
    CHECK(!device.contains("host_memory"));
    long long const left = device.at("memory").at("resident").get<long long>()
                           - on_host.at("memory").at("resident").get<long long>();
    CHECK(left > 0);
    CHECK(on_host.at("host_memory").at("peak") == left);
  }
  CHECK(contains(run_tool(gathering + " --resident 2 --shards host --host-bandwidth 1").out,
                 "on the host"));
  CHECK(run_tool("simulate 1f1b --shards host").code == 2);
  CHECK(run_tool(gathering + " --resident 2 --host-bandwidth 1").code == 2);
}

TEST_CASE("options of residency without effect are refused") {
  for (char const* line :
       {"simulate 1f1b --resident 2", "simulate 1f1b --data-ranks 2 --sharding weights --limit-bytes 9",
        "simulate 1f1b --data-ranks 2 --sharding weights --resident 1 --prefetch 2",
        "simulate 1f1b --data-ranks 2 --sharding weights --resident 1 --stash-bytes 5 --limit-bytes 1"})
    CHECK(run_tool(line).code == 2);
}

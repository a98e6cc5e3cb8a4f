// ashlar simulate, from end to end.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace {

nlohmann::json simulated(std::string const& arguments) {
  tool_result const r = run_tool("simulate " + arguments + " --as json");
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  return nlohmann::json::parse(r.out);
}

}  // namespace

TEST_CASE("simulate agrees with show where transfers are free or latency in flight") {
  CHECK(simulated("1f1b -p 4 -m 8").at("makespan") == 33);
  for (std::string const name : {"gpipe", "1f1b", "zb-h1", "v-half"}) {
    auto const run = simulated(name + " -p 4 -m 8 --transfer 3 --forward 5 --latency-in-flight");
    CHECK(run.at("makespan") == run.at("schedule_makespan"));
    CHECK(run.at("critical_path").back().at("until") == run.at("makespan"));
    for (auto const& device : run.at("by_device")) {
      long long sum = device.at("busy").get<long long>();
      for (auto const& idle : device.at("idle")) sum += idle.get<long long>();
      CHECK(sum == run.at("makespan").get<long long>());
    }
  }
}

TEST_CASE("simulate puts a bound beside what it reaches, whatever the links") {
  for (std::string const links :
       {"", " --latency 0", " --latency 5", " --latency 5 --latency-in-flight",
        " --bytes 100 --bandwidth 30", " --node-size 2 --inter-latency 9 --transfers buffered"})
    for (std::string const name : {"gpipe", "1f1b", "zb-h1", "v-half"}) {
      auto const run = simulated(name + " -p 4 -m 8 --transfer 3 --forward 5" + links);
      CAPTURE(name + links);
      for (std::string const key : {"makespan", "schedule_makespan"}) {
        double const reached = run.at(key), least = run.at(key + "_bound");
        CHECK(reached >= least);
        CHECK(run.at(key + "_gap").get<double>() == doctest::Approx(reached / least - 1));
      }
      if (links.empty()) CHECK(run["makespan_bound"] == run["schedule_makespan_bound"]);
    }
  // It is faster than --transfer: the bound is that of the links. So it is on several routes.
  auto const fast = simulated("1f1b -p 4 -m 8 --transfer 3 --latency 0");
  CHECK(fast["makespan_bound"] == 33);
  CHECK(fast["schedule_makespan_bound"] > 33);
  CHECK(simulated("chimera -p 4 -m 8").at("makespan_bound")
        <= simulated("chimera -p 4 -m 8").at("makespan"));
  CHECK(contains(run_tool("simulate chimera").out, "ticks, no less than "));
}

TEST_CASE("simulate counts links, bytes and rings") {
  // Two forwards and two backwards of a tick and two, and two transfers between them.
  CHECK(simulated("1f1b -p 2 -m 1 --latency 3 --bytes 100 --bandwidth 10").at("makespan") == 6 + 26);
  CHECK(simulated("1f1b -p 2 -m 1 --latency 3 --node-size 1 --inter-latency 7").at("makespan") == 20);
  CHECK(
      simulated("1f1b -p 1 -m 1 --gradient-bytes 100 --ring-bandwidth 10 --data-ranks 2").at("makespan")
      == 13);
  auto const run = simulated("1f1b -p 4 -m 8 --stash-bytes 10 --weight-bytes 7 --optimizer-bytes 1");
  CHECK(run.at("by_device")[0].at("memory").at("peak") == 48);
  CHECK(run.at("by_device")[0].at("memory").at("witness") == "0F3");
  CHECK(run.at("by_device")[3].at("memory").at("resident") == 8);
}

// A device's part of the model does not depend on how many stages it is cut into, and activations are
// those that `compare` counts as shares of the model's.
TEST_CASE("simulate takes sizes of a p-th of the model and of whole micro-batches") {
  constexpr long long stash = 9'240, resident = 4'620;  // multiples of all numbers of stages and parts
  for (std::string const name : {"1f1b", "zb-h1", "v-half", "depth-first -v 3", "breadth-first -v 2",
                                 "hanayo --waves 2", "chimera", "seq1f1b --sequence-chunks 3"}) {
    CAPTURE(name);
    std::string const line = name + " -p 4 -m 8";
    auto const row = nlohmann::json::parse(run_tool("compare --as json " + line).out).at(0);
    auto const run = simulated(line + " --weight-bytes " + std::to_string(resident) + " --stash-bytes "
                               + std::to_string(stash));
    for (std::size_t d = 0; d < 4; ++d) {
      auto const& memory = run.at("by_device")[d].at("memory");
      long long const there = memory.at("resident").get<long long>();
      CHECK(there == resident * row.at("weight_copies").get<int>());
      double const share = row.at("peak_activations")[d].get<double>();
      CHECK(static_cast<double>(memory.at("peak").get<long long>() - there)
            == doctest::Approx(4 * stash * share));
    }
  }
}

// One device holds two gradients in the second backward of a sequence, and the state that the first
// forward of the next one has left by then.
TEST_CASE("simulate counts what chunks of a sequence hand to each other") {
  auto const run = simulated("seq1f1b -p 1 -m 3 --sequence-chunks 3 --sequence-state-bytes 1KiB");
  CHECK(run.at("by_device")[0].at("memory").at("peak") == 3 * 1'024);
  CHECK(run.at("by_device")[0].at("memory").at("reserved") == 4 * 1'024);
  CHECK(run_tool("simulate 1f1b --sequence-state-bytes 1KiB").code == 2);
}

TEST_CASE("simulate delays a link, and says how late each may be") {
  std::string const line = "1f1b -p 4 -m 8 --forward 20ms --backward-input 26ms --backward-weight 14ms ";
  auto const plain = simulated(line + "--slack");
  CHECK(plain["slack"].size() == 6);
  for (auto const& link : plain["slack"]) {
    CHECK(link["transfers"] == 8);
    auto const late = [&](long long by) {
      std::string const name = link["from"].dump() + "-" + link["to"].dump();
      return simulated(line + "--link " + name + ":" + std::to_string(by) + "ms").at("makespan");
    };
    CHECK(late(link["slack"]) == plain["makespan"]);
    CHECK(late(link["slack"].get<long long>() + 1) > plain["makespan"]);
  }
  CHECK(contains(run_tool("simulate " + line + "--slack").out, "may be later by"));
  // Delays of several messages overlap on their way.
  std::string const gpipe = "gpipe" + line.substr(4) + "--slots one-a-value ";
  CHECK(simulated(gpipe + "--link 2-3:60ms --latency-in-flight").at("makespan")
        < simulated(gpipe + "--link 2-3:60ms").at("makespan"));
  // The delays are finer than the other times, and in two directions.
  CHECK(simulated(line + "--link 2-3:0.5ms --link 3-2:60ms").at("ticks_per_unit") == 2);
  for (auto const& [wrong, why] :
       {std::pair{"--link 0-2:1ms", "no transfer goes from device 0 to device 2"},
        {"--link 0-9:1ms", "no transfer goes from device 0 to device 9"},
        {"--link 0-1", "FROM-TO:TIME"},
        {"--link 0-1:1ms --link 0-1:2ms", "--link 0-1 is given twice"},
        {"--link 0-1:-1ms", "--link 0-1"}}) {
    tool_result const r = run_tool("simulate " + line + wrong);
    CHECK(r.code == 2);
    CHECK(contains(r.err, why));
  }
}

TEST_CASE("simulate has the order of transfers as an option") {
  std::string const line =
      "v-half -p 8 -m 32 --forward 10 --backward-input 10 --backward-weight 10 --transfer 1 "
      "--slots one-a-value --transfer-order ";
  long long const ordered = simulated(line + "finish-time").at("makespan").get<long long>();
  CHECK(simulated(line + "asap").at("makespan").get<long long>() > ordered);
}

TEST_CASE("simulate writes text and a trace, to a file too") {
  tool_result const text = run_tool("simulate 1f1b -p 4 -m 8");
  CHECK(text.code == 0);
  CHECK(contains(text.out, "makespan  33 ticks, no less than 33, gap 0.00 %\n"));
  // The path is the way of the first micro-batch down, then the last device without a pause;
  // instructions that take no time, like clearing gradients and these transfers, are no steps.
  CHECK(contains(text.out, "critical path, 22 steps:\n"));
  CHECK(!contains(text.out, "clear"));
  CHECK(!contains(text.out, "send"));
  std::string const file = (scratch() / "trace.json").string();
  CHECK(run_tool("simulate 1f1b -p 4 -m 8 --as trace -o " + file).code == 0);
  auto const trace = nlohmann::json::parse(content(file));
  std::size_t spans = 0;
  for (auto const& e : trace.at("traceEvents")) spans += e.at("ph") == "X";
  CHECK(spans == 64 + 2 * 48 + 2 * 4);  // passes, halves of transfers, reductions
}

// A forward of 4 and an exchange of 3, a backward of 3 and 4 + 2, four of each: the exchanges of all but
// the last forward and the first backward are beside what computes.
TEST_CASE("simulate and compare run parts on two resources where costs have them") {
  std::string const file = scratch_file(
      "parts.json",
      R"({"costs": {"unit": "us", "stages": [{"parts": {"forward": [{"compute": 4}, {"exchange": 3}],
          "backward": [{"exchange": 3}, {"compute": 4}, {"compute": 2, "of": "weights"}]}}]}})");
  std::string const line = "gpipe -p 1 -m 4 --costs " + file;
  auto const run = simulated(line);
  auto const us = run.value("ticks_per_unit", 1LL);
  CHECK(run.at("makespan") == 64 * us);
  CHECK(run.at("makespan_of_parts") == (4 * 4 + 3 + 3 + 4 * 6) * us);
  CHECK(run.at("by_device").at(0).at("of_parts")
        == nlohmann::json{{"computing", 40 * us}, {"exchanging", 24 * us}});
  std::string const text = run_tool("simulate " + line).out;
  CHECK(contains(text, "\nof parts  46 us, "));
  CHECK(contains(text, "computes  exchanges\n"));
  auto const row = nlohmann::json::parse(run_tool("compare " + line + " --as json").out).at(0);
  CHECK((row.at("makespan") == 64 && row.at("makespan_of_parts") == 46));
  CHECK(contains(run_tool("compare " + line).out, " of parts\n"));
  CHECK(contains(run_tool("compare " + line + " --as csv").out, ",46\n"));
  auto const trace = nlohmann::json::parse(run_tool("simulate " + line + " --as part-trace").out);
  std::size_t spans = 0;
  for (auto const& e : trace.at("traceEvents")) spans += e.at("ph") == "X";
  CHECK(spans == 4 * (2 + 3));
  CHECK(trace.at("traceEvents").back().at("dur") == 2);
  CHECK(contains(run_tool("simulate gpipe --as part-trace").err, "what passes consist of"));
  // If times of chunks differ, their parts are not known.
  std::string const chunks = "seq1f1b -p 2 -m 4 --sequence-chunks 2 --causal 50 --costs " + file;
  CHECK(!simulated(chunks).contains("makespan_of_parts"));
  CHECK(!contains(run_tool("compare " + chunks).out, "of parts"));
}

TEST_CASE("simulate says on a terminal what it is at, and nowhere else") {
  CHECK(run_tool("simulate 1f1b").err.empty());
  std::string const out = (scratch() / "terminal").string();
  if (std::system("script --version >/dev/null 2>&1") != 0) return;
  CHECK(
      std::system(("script -qec \"'" ASHLAR_TOOL "' simulate 1f1b\" /dev/null >'" + out + "' </dev/null")
                      .c_str())
      == 0);
  CHECK(contains(content(out), "simulating its program"));
}

TEST_CASE("simulate refuses what it cannot do") {
  for (char const* const line :
       {"simulate nothing", "simulate 1f1b --latency -1", "simulate 1f1b --bytes x",
        "simulate 1f1b --data-ranks 0", "simulate 1f1b --transfer-order never",
        "simulate 1f1b --transfer-order 1", "simulate 1f1b --latency 9000000000000000000",
        "simulate 1f1b --stash-bytes 9000000000000000000",
        "simulate 1f1b --as trace --latency 1000000000000000", "simulate 1f1b --as picture"}) {
    CAPTURE(line);
    tool_result const r = run_tool(line);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(!r.err.empty());
  }
}

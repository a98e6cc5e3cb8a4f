// Costs of the chunks of a sequence; later ones take longer.
#include "tool/refusals.hpp"
#include "tool/searching.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

TEST_CASE("later chunks of a sequence take longer") {
  std::string const asked =
      "search -p 2 -m 4 --placement linear --forward 8 --backward-input 8 "
      "--backward-weight 8 --sequence-chunks 2 --budget 200 --as json";
  nlohmann::json const s = nlohmann::json::parse(run_tool(asked + " --causal 50,100").out);
  nlohmann::json const& best = s["layouts"][1];
  CHECK(best["sequence_chunks"] == 2);
  REQUIRE(s["sequence_chunks"] == 2);
  CHECK(s["costs"]["sequence_chunks"] == 2);
  nlohmann::json const& each = s["costs"]["per_stage"];
  REQUIRE(each.size() == 4);
  long const unit = best["unit"];
  CHECK(each[0]["forward"].get<long>() + each[1]["forward"].get<long>() == 8 * unit);
  CHECK(8 * each[0]["forward"].get<long>() == 3 * 8 * unit);         // 1/4 + 1/8 of it
  CHECK(4 * each[3]["backward_input"].get<long>() == 3 * 8 * unit);  // 3 to 1
  CHECK(each[0]["backward_weight"] == each[1]["backward_weight"]);
  CHECK(contains(run_tool("search -p 2 -m 4 --causal 50").err,
                 "--causal has no effect without --sequence-chunks"));
  CHECK(contains(run_tool(asked + " --causal 1,2,3").err, "--causal gives a percentage"));
}

TEST_CASE("seq1f1b with causal attention") {
  nlohmann::json const s = nlohmann::json::parse(
      run_tool("emit seq1f1b -p 2 -m 4 --sequence-chunks 2 --causal 50 --forward 4 --backward-input 2 "
               "--backward-weight 2 --as json")
          .out);
  // Mean chunks take 2, 1 and 1: the first a quarter less of a forward, the second a quarter more.
  CHECK(s["costs"]["ticks_per_unit"] == 8);
  CHECK(s["costs"]["per_stage"][0]["forward"] == 12);
  CHECK(s["costs"]["per_stage"][1]["forward"] == 20);
  CHECK(s["costs"]["per_stage"][1]["backward_input"] == 10);
  CHECK(s["costs"]["per_stage"][1]["backward_weight"] == 8);
  std::string const file = scratch_file("causal.json", s.dump());
  CHECK(nlohmann::json::parse(run_tool("emit " + file + " --as json").out) == s);
  CHECK(contains(run_tool("emit " + file + " --causal 50 --as json").err,
                 "--causal has no effect on costs that are given for each chunk"));
  CHECK(contains(run_tool("show 1f1b --causal 50").err, "--causal has no effect on 1f1b"));
}

TEST_CASE("causal attention gives the same numbers in every command") {
  std::string const chunks = " -p 4 -m 8 --sequence-chunks 4 --causal 30,46",
                    whole = " --forward 8 --backward-input 8 --backward-weight 8";
  nlohmann::json const compared =
      nlohmann::json::parse(run_tool("compare seq1f1b 1f1b --as json" + chunks + whole).out);
  double const makespan = compared[0]["makespan"];
  CHECK(compared[1]["makespan"] == 264);  // 1F1B: (m + p - 1) of 24 ticks
  CHECK(makespan == doctest::Approx(245.34));
  CHECK(contains(run_tool("check seq1f1b" + chunks + whole).out, "makespan 245.34,"));
  CHECK(contains(run_tool("simulate seq1f1b" + chunks + whole).out, "makespan  245.34 ticks"));
  // A file has costs of mean chunks; those given are of whole sequences.
  std::string const file = scratch_file("mean.json", "");
  REQUIRE(run_tool("emit seq1f1b -p 4 -m 8 --sequence-chunks 4 --as json -o " + file + whole).code == 0);
  for (std::string const& cost : {std::string(), whole}) {
    std::string const asked = file + " --causal 30,46" + cost;
    CHECK(contains(run_tool("check " + asked).out, "makespan 245.34,"));
    CHECK(contains(run_tool("simulate " + asked).out, "makespan  245.34 ticks"));
  }
  CHECK(nlohmann::json::parse(
            run_tool("compare " + file + " --as json" + chunks.substr(0, 10) + " --causal 30,46" + whole)
                .out)[0]["makespan"]
        == makespan);
  nlohmann::json const frontier = nlohmann::json::parse(
      run_tool("frontier seq1f1b -p 4 -m 8 --placement linear --steps 1 --budget 20 --sequence-chunks 2 "
               "--causal 30,46 --as json"
               + whole)
          .out);
  nlohmann::json const two =
      nlohmann::json::parse(run_tool("compare seq1f1b -p 4 -m 8 --causal 30,46 --as json" + whole).out);
  CHECK(frontier[1]["published"][0]["overhead_span"] == two[0]["overhead_span"]);
}

TEST_CASE("a schedule beside searches with costs of each chunk has these costs") {
  std::string const file = scratch_file("chunks.csv", "4,6,3\n6,9,3\n4,6,3\n6,8,3\n");
  nlohmann::json const found = nlohmann::json::parse(
      run_tool("frontier seq1f1b 1f1b -p 2 -m 4 --placement linear --steps 1 --from 1 "
               "--budget 20 --sequence-chunks 2 --as json --per-stage "
               + file)
          .out)[1]["published"];
  ashlar::costs const each(
      ashlar::pass_costs::by_stage_and_sequence_chunk({{4, 6, 3}, {6, 9, 3}, {4, 6, 3}, {6, 8, 3}}, 2));
  auto const overhead = [](char const* name, ashlar::costs const& cost) {
    return ashlar::overhead_span(ashlar::catalog::find(name)->make(
        {.p = ashlar::devices{2}, .m = ashlar::micro_batches{4}, .cost = cost}));
  };
  CHECK(found[0]["overhead_span"] == overhead("seq1f1b", each));
  CHECK(found[1]["overhead_span"] == overhead("1f1b", ashlar::of_whole_sequences(each)));
}

TEST_CASE("causal attention beside costs of each chunk is refused with the same words everywhere") {
  std::string const each = scratch_file("each.csv", "1,2,1\n2,3,1\n4,6,2\n5,7,2\n"),
                    stages = scratch_file("stages.csv", "2,3,1\n5,7,2\n"),
                    size = "-p 2 -m 4 --sequence-chunks 2", causal = " --causal 30 --per-stage ",
                    file = scratch_file("mean.json", "");
  REQUIRE(run_tool("emit seq1f1b " + size + " --as json -o " + file).code == 0);
  std::vector<std::string> asked = {"search --placement linear " + size,
                                    "frontier --placement linear " + size};
  for (std::string const command : {"show ", "emit --as json ", "simulate ", "check "})
    for (std::string const& schedule : {"seq1f1b " + size, file}) asked.push_back(command + schedule);
  for (std::string const& a : asked) {
    INFO(a);
    CHECK(contains(run_tool(a + causal + each).err,
                   "--causal has no effect on costs that are given for each chunk"));
  }
  for (std::string const& schedule : {"seq1f1b " + size, file})
    CHECK(run_tool("show " + schedule + causal + stages).code == 0);  // of mean chunks
}

TEST_CASE("compare takes lines for pieces of the model, with causal attention, too") {
  std::string const asked = " -p 2 -m 4 --causal 30 --as json --per-stage "
                            + scratch_file("pieces.csv", "1,2,1\n2,3,1\n4,6,2\n5,7,2\n");
  nlohmann::json const named = nlohmann::json::parse(run_tool("compare seq1f1b" + asked).out)[0];
  bool found = false;
  for (nlohmann::json const& row : nlohmann::json::parse(run_tool("compare" + asked).out))
    if (row["schedule"] == "seq1f1b") {
      CHECK(row == named);
      found = true;
    }
  CHECK(found);
}

TEST_CASE("causal attention where sequences are whole is refused") {
  for (char const* asked : {"compare zb-h1 1f1b", "check 1f1b", "simulate 1f1b"})
    CHECK(contains(run_tool(asked + std::string(" --causal 3")).err, "sequences are whole there"));
  CHECK(contains(run_tool("frontier --causal 3").err, "--causal has no effect without"));
  std::string const file = scratch_file("whole.json", run_tool("emit 1f1b -p 2 -m 2 --as json").out);
  for (char const* command : {"show ", "check "})
    CHECK(contains(run_tool(command + file + " --causal 3").err, "sequences are whole there"));
  std::string const page = " --as html -o " + scratch_file("both.html", "");
  CHECK(contains(run_tool("emit zb-h1 --against 1f1b --causal 3" + page).err,
                 "--causal has no effect on zb-h1 and 1f1b"));
  CHECK(run_tool("emit seq1f1b --against 1f1b --causal 3" + page).code == 0);
}

// Ticks become finer where chunks differ; figures in bytes do not.
TEST_CASE("sums over ranks take as long, and messages are as large, whether chunks differ or not") {
  std::string const stage = R"({"forward": 100, "backward_input": 100, "backward_weight": 100})";
  std::string const measured = " --costs "
                               + scratch_file("chunks.json", R"({"costs": {"unit": "us", "stages": [)"
                                                                 + stage + "," + stage + R"(],
      "message_bytes": 1000, "links": {"inside": {"latency": 1, "bytes_per_second": 1e9}},
      "collective": {"latency": 5, "bytes_per_second": 1e9}}})");
  auto const simulated = [&](std::string const& line) {
    return nlohmann::json::parse(run_tool("simulate seq1f1b -p 2 -m 4 --as json" + measured + line).out);
  };
  auto const microseconds = [&](std::string const& line) {
    nlohmann::json const s = simulated(line);
    return s["makespan"].get<double>() / s["ticks_per_unit"].get<double>();
  };
  std::string const causal = " --causal 30", ranks = " --data-ranks 2 --gradient-bytes 50000";
  CHECK(microseconds(ranks) == microseconds("") + 2 * 5 + 50);
  CHECK(microseconds(causal + ranks) == microseconds(causal) + 2 * 5 + 50);
  auto const peak = [&](std::string const& line) {
    return simulated(line)["by_device"][1]["memory"]["peak"].get<long>();
  };
  CHECK((peak("") > 0 && peak(causal) == peak("")));
}

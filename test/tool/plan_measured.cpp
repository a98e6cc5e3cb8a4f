// `ashlar plan` on measured layers.
#include "tool/planning.hpp"
#include "tool/refusals.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

TEST_CASE("plan: which share of measured layers is causal attention") {
  std::string const file = scratch_file("attending.json", R"({"sequence": 128, "measured": [{"layers": [
      {"forward_ms": 2, "backward_ms": 4, "parameters": 1e3, "kept_bytes": 1e3, "output_bytes": 8, "count": 8}]}]})");
  std::string const asked =
      "--model " + file + " --cluster " + figures("A100", 1, 4) + " --batch 16 --top 1000 --search 0 ";
  auto const piped = [&](std::string const& causal) {
    nlohmann::json const all = planned(asked + "--schedules seq1f1b" + causal);
    for (auto const& plan : all["plans"])
      if (plan["pipeline"] == 4 && plan["sequence_chunks"] == 2 && plan["micro_batch"] == 1) return plan;
    return nlohmann::json();
  };
  // Every device does 16 sequences, 12 ms each; the last one begins after the first piece's forwards.
  auto const alike = piped(""), causal = piped(" --causal 50,0");
  CHECK(alike["busy"].get<double>() == doctest::Approx(0.192));
  CHECK(causal["busy"].get<double>() == doctest::Approx(0.192));
  CHECK(alike["bound"].get<double>() == doctest::Approx(0.192 + 3 * 0.002).epsilon(1e-4));
  CHECK(causal["bound"].get<double>() == doctest::Approx(0.192 + 3 * 0.0015).epsilon(1e-4));
  CHECK(contains(run_tool("plan " + asked + "--causal 30,46").out,
                 "30 % of forwards and 46 % of input passes causal attention"));
  auto const refused = [&](std::string const& arguments, std::string const& why) {
    tool_result const r = run_tool("plan " + arguments);
    CHECK(r.code == 2);
    CHECK_MESSAGE(contains(r.err, why), r.err);
  };
  refused(asked + "--causal 1,2,3", "--causal gives a percentage of forwards and one of input passes");
  refused(asked + "--causal 101", "--causal");
  refused(asked + "--causal 30 --schedules 1f1b,zb-h1",
          "--causal has no effect on schedules 1f1b,zb-h1: sequences are whole there");
  refused("--model 8B --cluster " + figures("H100", 1, 8) + " --batch 8 --causal 30",
          "--causal has no effect on a model of formulas: they say what attention takes");
}

TEST_CASE("plan: layers as measured, in stages of other sizes") {
  std::string const listed = scratch_file("listed.json", R"({"sequence": 128, "measured": [{"layers": [
      {"forward_ms": 1, "backward_ms": 2, "parameters": 1e6, "kept_bytes": 1e6, "output_bytes": 1e4, "count": 6},
      {"forward_ms": 4, "backward_ms": 8, "parameters": 1e6, "kept_bytes": 1e6, "output_bytes": 1e4}]}]})");
  auto const plans = planned("--model " + listed + " --cluster " + figures("A100", 1, 2)
                             + " --batch 8 --top 100 --search 0")["plans"];
  bool is_uneven = false;
  for (auto const& plan : plans) {
    CHECK(plan["tensor"] == 1);
    CHECK(plan["utilisation"].get<double>() <= 1);
    is_uneven = is_uneven || plan["layers"] == nlohmann::json::array({5, 2});
  }
  CHECK(is_uneven);
}

TEST_CASE("plan: times of listed layers from what profile writes") {
  std::string const layer = R"({"parameters": 1e6, "kept_bytes": 1e6, "output_bytes": 1e4)";
  auto const model = [&](char const* name, std::string const& first, std::string const& second) {
    return scratch_file(name, R"({"sequence": 128, "measured": [{"layers": [)" + layer + first + "},"
                                  + layer + second + "}]}]}");
  };
  std::string const timed = model("timed.json", R"(, "forward_ms": 1, "backward_ms": 3)",
                                  R"(, "forward_ms": 4, "backward_ms": 8)"),
                    bare = model("bare.json", "", ""),
                    costs = scratch_file("layers_costs.json", R"({"costs": {"unit": "ms", "stages": [
      {"forward": 1, "backward_input": 2, "backward_weight": 1},
      {"forward": {"median": 4}, "backward_input": 4, "backward_weight": 4}]}})");
  std::string const asked = " --cluster " + figures("A100", 1, 2) + " --batch 8 --top 9 --search 0";
  auto const expected = planned("--model " + timed + asked)["plans"];
  CHECK(planned("--model " + bare + " --costs " + costs + asked)["plans"] == expected);
  CHECK(planned("--model " + timed + " --costs " + costs + asked)["plans"] == expected);

  tool_result const lacks = run_tool("plan --model " + bare + asked);
  CHECK((lacks.code == 2 && contains(lacks.err, "forward_ms")));
  std::string const one = scratch_file("one_cost.json", R"({"costs": {"unit": "ms", "stages": [
      {"forward": 1, "backward_input": 2, "backward_weight": 1},
      {"forward": 1, "backward_input": 2, "backward_weight": 1},
      {"forward": 1, "backward_input": 2, "backward_weight": 1}]}})");
  tool_result const other = run_tool("plan --model " + bare + " --costs " + one + asked);
  CHECK((other.code == 2 && contains(other.err, "measure each layer as a stage")));
  tool_result const formulas = run_tool("plan --model 8B --costs " + costs + asked);
  CHECK((formulas.code == 2 && contains(formulas.err, "formulas")));
  tool_result const known = run_tool("plan --model 8B --costs " + costs + " --cluster 8xH100 --batch 8");
  CHECK((known.code == 2 && contains(known.err, "--costs has no effect")));
}

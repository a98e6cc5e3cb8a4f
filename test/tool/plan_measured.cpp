// `ashlar plan` on measured layers.
#include "tool/planning.hpp"
#include "tool/refusals.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

TEST_CASE("plan: which share of measured layers is causal attention") {
  std::string const file = scratch_file("attending.json", R"({"sequence": 128, "measured": [{"layers": [
      {"forward_ms": 2, "backward_ms": 4, "parameters": 1e3, "kept_bytes": 1e3, "output_bytes": 8, "count": 8}]}]})");
  std::string const asked = "--model " + file + " --cluster 4xA100 --batch 16 --top 3 --fix pipeline=4 ";
  auto const whole = planned(asked + "--schedules 1f1b")["plans"][0];
  // Every device does 16 sequences, 12 ms each; the first pass of the last one waits for three forwards,
  // and the last pass of the first for three backwards.
  CHECK(whole["seconds"].get<double>() == doctest::Approx(0.192 + 3 * 0.012).epsilon(0.02));
  auto const pieces = [&](std::string const& causal) {
    return planned(asked + "--schedules seq1f1b" + causal)["plans"][0]["seconds"].get<double>();
  };
  CHECK(pieces("") < whole["seconds"].get<double>());
  CHECK(pieces(" --causal 50,0") != pieces(""));
  all_refused({{"plan " + asked + "--causal 1,2,3",
                "--causal gives a percentage of forwards and one of input passes"},
               {"plan " + asked + "--causal 101", "--causal"},
               {"plan --model 8B --cluster 8xH100 --batch 8 --causal 30",
                "--causal has no effect on a model of formulas: they say what attention takes"},
               {"plan " + asked + "--sequence 64", "--sequence has no effect on measured layers"}});
}

TEST_CASE("plan: layers as measured, in stages of other sizes, by tensor ranks and kind") {
  std::string const layer = R"("parameters": 1e6, "kept_bytes": 1e6, "output_bytes": 1e4)";
  std::string const listed = scratch_file("listed.json", R"({"sequence": 128, "measured": [{"layers": [
      {"forward_ms": 1, "backward_ms": 2, "count": 6, )" + layer
                                                             + R"(},
      {"forward_ms": 4, "backward_ms": 8, )" + layer + "}]}]}");
  auto const plans = planned("--model " + listed + " --cluster 2xA100 --batch 8 --top 100")["plans"];
  bool is_uneven = false;
  for (auto const& plan : plans) {
    CHECK(plan["tensor"] == 1);
    is_uneven = is_uneven || plan["layers"] == nlohmann::json::array({5, 2});
  }
  CHECK(is_uneven);
  // The slower kind has the fewer layers.
  auto const list = [&](std::string const& kind, std::string const& times) {
    return R"({"kind": ")" + kind + R"(", "layers": [{)" + times + R"("count": 8, )" + layer + "}]}";
  };
  std::string const two =
      scratch_file("two.json", R"({"sequence": 128, "measured": [)"
                                   + list("H100", R"("forward_ms": 1, "backward_ms": 2, )") + ","
                                   + list("A100-80", R"("forward_ms": 3, "backward_ms": 6, )") + "]}");
  auto const plan = planned("--model " + two
                            + " --cluster 1xH100+1xA100 --batch 64 --top 1 --fix pipeline=2 --schedules "
                              "1f1b")["plans"][0];
  int const fast = plan["kinds"][0] == "H100" ? 0 : 1;
  CHECK(plan["layers"][static_cast<std::size_t>(fast)] == 6);
  CHECK(plan["layers"][static_cast<std::size_t>(1 - fast)] == 2);
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
  std::string const asked = " --cluster 2xA100 --batch 8 --top 9";
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

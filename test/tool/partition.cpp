// `ashlar partition`: a file of operators, its stages, and their use by other commands.
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"
#include "tool/searching.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

// Two branches, and the operator that joins them.
std::string branches() {
  return scratch_file(
      "branches.json",
      R"({"operators": [{"name": "left", "forward": 4, "backward_input": 4, "backward_weight": 4},
                        {"name": "right", "forward": 4, "backward_input": 4, "backward_weight": 4},
                        {"name": "join", "forward": 4, "backward_input": 4, "backward_weight": 4, "kept": 9}],
          "edges": [[0, 2], [1, 2]]})");
}

}  // namespace

TEST_CASE("partition tells the stages, and writes what other commands read") {
  std::string const line = "partition " + branches() + " -p 3 --samples 8 --largest-micro-batch 1";
  tool_result const r = run_tool(line);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "3 stages on 3 of 3 devices, depth 2; 108 ticks per step, simulated"));
  CHECK(contains(r.out, "right"));
  std::string const plan = (scratch() / "partition.json").string();
  CHECK(run_tool(line + " --as json -o " + plan).code == 0);
  tool_result const shown = run_tool("show " + plan);
  CHECK(
      contains(shown.out, "stage 0 on device 0 -> 2\nstage 1 on device 1 -> 2\nstage 2 on device 2\n"));
  CHECK(contains(shown.out, "makespan     108 ticks"));
  tool_result const drawn = run_tool(line + " --as graph"),
                    again = run_tool("emit " + plan + " --as svg --stages");
  CHECK(contains(drawn.out, "<title>stage 2 on device 2</title>"));
  CHECK(drawn.out == again.out);
}

TEST_CASE("search goes over the graph of the schedule that it begins with") {
  std::string const plan = (scratch() / "searched_partition.json").string();
  REQUIRE(run_tool("partition " + branches() + " -p 3 --samples 8 --largest-micro-batch 1 --as json -o "
                   + plan)
              .code
          == 0);
  std::string const line = "--start " + plan + " --budget 300 --objective makespan";
  nlohmann::json const s = found(line);
  CHECK(s["stage_edges"] == nlohmann::json::parse("[[0, 2], [1, 2]]"));
  CHECK(s["micro_batches"] == 8);
  CHECK(s["reached"].get<long>() < 108);  // the backwards are split
  CHECK(s["reached"].get<long>() >= s["bound"].get<long>());
  CHECK(s["bound"] == s["makespan_bound"]);
  CHECK(found(line + " --limit 1")["peak_activations"] == nlohmann::json::parse("[1, 1, 1]"));
  all_refused({{"search " + line + " --sequence-chunks 2", "cuts sequences of chains of stages alone"}});
  tool_result const none = run_tool("search " + line + " --limit-bytes 8B --stash-bytes 9B");
  CHECK(none.code == 1);
  CHECK(contains(none.err, "device 0 needs 9B"));
}

TEST_CASE("partition refuses what is no model, and says when nothing fits") {
  std::string const one = R"({"forward": 1, "backward_input": 1})";
  all_refused({{"partition " + scratch_file("lacks.json", R"({"operators": [{"forward": 1}]})"),
                "lacks \"backward_input\""},
               {"partition " + scratch_file("unknown.json", R"({"operators": [{"spin": 1}]})"),
                "has \"spin\", which means nothing here"},
               {"partition "
                    + scratch_file("back.json",
                                   R"({"operators": [)" + one + "," + one + R"(], "edges": [[1, 0]]})"),
                "one leads from stage 1 to stage 0"},
               {"partition " + branches() + " --samples 9", "--samples must be a multiple"}});
  tool_result const r = run_tool("partition " + branches() + " --memory 8B");
  CHECK(r.code == 1);
  CHECK(contains(r.err, "no partition fits into the memory of 4 devices"));
}

// Traces of PyTorch's profiler, as costs and as a measured timeline.
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace {

std::string const traces = ASHLAR_TEST_DATA "/profile";

}  // namespace

TEST_CASE("a folder of PyTorch's traces gives costs, and lies over the plan that they give") {
  std::string const plan = (scratch() / "planned_by_traces.json").string();
  tool_result const made =
      run_tool("simulate zb-h1 -p 2 -m 4 --costs " + traces + " --as trace -o " + plan);
  INFO(made.err);
  CHECK(made.code == 0);
  tool_result const r = run_tool("trace-diff " + traces + " " + plan + " --most 2");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "measured  "));
  CHECK(contains(r.out, "on the measured longest path, these add "));
  CHECK(run_tool("trace-diff " + traces + " " + plan + " --as html").code == 0);
}

TEST_CASE("the trace of one rank gives the costs of its stage, and what is guessed is told") {
  tool_result const r = run_tool("show zb-h1 -p 2 -m 4 --costs " + traces + "/rank1.json");
  CHECK(r.code == 0);
  CHECK(contains(r.err, "no pass of stage 0 was seen: they count as the mean of the other stages"));
}

TEST_CASE("folders without traces, and what is no trace, are refused") {
  std::filesystem::path const empty = scratch() / "no_traces", packed = scratch() / "packed_traces";
  std::filesystem::create_directories(empty);
  std::filesystem::create_directories(packed);
  scratch_file("packed_traces/rank0.pt.trace.json.gz", "x");
  all_refused({{"show 1f1b -p 2 -m 2 --costs " + empty.string(), "has no file *.json"},
               {"show 1f1b -p 2 -m 2 --costs " + packed.string(), "is compressed: gunzip it first"},
               {"trace-diff " + empty.string() + " " + empty.string(), "has no file *.json"},
               {"show 1f1b -p 3 -m 3 --costs " + traces, "has costs of 2 stages"}});
}

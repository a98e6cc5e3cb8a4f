// `ashlar predict --best` from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const eight_nodes = "--model llama3-70b --cluster 8x8xH100 --sequence 8192 --batch 512 ";

}  // namespace

TEST_CASE("predict --best: the fastest layouts, and the first of them predicted") {
  auto const p = predicted_run(eight_nodes + "--best 4");
  auto const& all = p["layouts"];
  REQUIRE(all["best"].size() == 4);
  CHECK((all["tried"] > 1000 && all["too_large"] < all["tried"]));
  CHECK(p["fits"] == true);
  CHECK(p["step_seconds"] == all["best"][0]["step_seconds"]);
  CHECK(p["peak_bytes"] == all["best"][0]["peak_bytes"]);
  for (auto const& one : all["best"]) {  // as one asks for it alone
    auto const alone = predicted_run(eight_nodes + one["options"].get<std::string>());
    CHECK(alone["step_seconds"] == one["step_seconds"]);
    CHECK(alone["peak_bytes"] == one["peak_bytes"]);
    CHECK(alone["step_seconds"] >= p["step_seconds"]);
  }
}

// A program that the sizes alone would not tell is named.
TEST_CASE("predict --best: options that are copied give the same answer") {
  std::string const small = "--model llama2-7b --cluster 2x8xH100 --sequence 4096 --batch 64 ";
  std::string const given = "--context 1 --chunks 1 --sharding optimizer ";
  bool is_named = false;
  auto const all = predicted_run(small + given + "--best 40");
  for (auto const& one : all["layouts"]["best"]) {
    std::string const options = one["options"];
    CAPTURE(options);
    is_named = is_named || contains(options, "--stack megatron-");
    CHECK(predicted_run(small + options)["step_seconds"] == one["step_seconds"]);
  }
  CHECK(is_named);
}

TEST_CASE("predict --best: what is given stays") {
  auto const p =
      predicted_run(eight_nodes + "--best 3 --tensor 4 --sharding optimizer --recompute none");
  for (auto const& one : p["layouts"]["best"]) {
    std::string const options = one["options"];
    CHECK((contains(options, "--tensor 4 ") && contains(options, "--sharding optimizer")
           && !contains(options, "--recompute")));
  }
  auto const published = predicted_run(
      "--model llama3.1-405b --cluster 2048x8xH100 --sequence 8192 --batch 2048 --best 1 --tensor 8 "
      "--pipeline 16 --data 128 --sharding optimizer");
  CHECK(contains(published["options"].get<std::string>(), "--ends-as-layers"));
}

TEST_CASE("predict --best: none fits, and what is not tried is said") {
  tool_result const r =
      run_tool("predict --model llama3.1-405b --cluster 8xH100 --sequence 8192 --batch 64 --best 3");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "None fits; the smallest:"));
  CHECK(contains(r.out, "It does not fit"));
  CHECK(contains(run_tool("predict --best 3 --schedule zb-h1 " + eight_nodes).err,
                 "--schedule has no effect with --best, which goes by formulas"));
  CHECK(run_tool("predict --best 0 " + eight_nodes).code == 2);
  tool_result const none = run_tool(
      "predict --best 3 --model llama3-70b --cluster 8x8xH100 --sequence 8192 --batch 12 --tensor 8 "
      "--data 8");
  CHECK(none.code == 2);
  CHECK(contains(none.err, "no layout is possible; with --micro-batch 1 --tensor 8 --pipeline 1"));
  CHECK(contains(none.err, "--batch 12 must be a multiple of --micro-batch 1 x --data 8 = 8"));
}

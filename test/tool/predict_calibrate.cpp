// `ashlar predict --calibrate`, and constants from a file.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace {

// A file of eight runs, each as long as with these options.
std::string runs_as_of(std::string const& facts) {
  std::string rows = "model,cluster,sequence,batch,tensor,pipeline,sharding,stack,step_seconds\n";
  for (auto const& [tensor, pipeline] : {std::pair{8, 1}, {1, 8}, {8, 2}, {1, 4}})
    for (char const* batch : {"64", "128"}) {
      std::string const sizes = std::string(" --sequence 8192 --batch ") + batch + " --tensor "
                                + std::to_string(tensor) + " --pipeline " + std::to_string(pipeline)
                                + " --sharding optimizer --stack megatron-bridge";
      double const seconds =
          predicted_run("--model llama3-70b --cluster 8x8xH100" + sizes + facts)["step_seconds"];
      rows += std::string("llama3-70b,8x8xH100,8192,") + batch + "," + std::to_string(tensor) + ","
              + std::to_string(pipeline) + ",optimizer,megatron-bridge," + std::to_string(seconds)
              + "\n";
    }
  return scratch_file("eight.csv", rows);
}

}  // namespace

TEST_CASE("predict: constants are fitted to a file of runs, and taken from there") {
  std::string rows = "model,cluster,sequence,batch,sharding,layout,pipeline,step_seconds\n";
  for (int batch = 8; batch <= 96; batch += 8) {  // a machine that is a fifth slower
    std::string const size = std::to_string(batch);
    double const usual = predicted_run(
        "--model 8B --cluster 8xH200 --sequence 4096 --sharding full --batch " + size)["step_seconds"];
    rows += "8B,8xH200,4096," + size + ",full,\"\",," + std::to_string(1.2 * usual) + "\n";
  }
  std::string const runs = scratch_file("runs.csv", rows), made = (scratch() / "made.json").string();
  tool_result const r = run_tool("predict --calibrate " + runs + " -o " + made);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "12 runs; mean error 16.7 % with the constants as they were"));
  CHECK(contains(r.out, "of runs that had no part in the fit"));
  std::string const one = "--model 8B --cluster 8xH200 --sequence 4096 --sharding full --batch 64";
  double const before = predicted_run(one)["step_seconds"];
  double const after = predicted_run(one + " --constants " + made)["step_seconds"];
  CHECK(after > 1.1 * before);
  CHECK(after < 1.25 * before);
  auto const refused = [](std::string const& text) {
    return "predict --calibrate " + scratch_file("bad" + std::to_string(text.size()) + ".csv", text);
  };
  all_refused({
      {refused("model,clster\n"), "did you mean 'cluster'?"},
      {refused("model,cluster,sequence,batch,step_seconds\n8B,8xH100,2048,63,3\n"),
       "line 2: --batch 63"},
      {refused("model,cluster,sequence,batch,step_seconds\n8B,8xH100,2048,64\n"), "has 4 cells"},
      {refused("model,cluster,sequence,batch,step_seconds\n8B,8xH100,2048,8,nan\n"),
       "step_seconds must be"},
      {refused("model,cluster,sequence,batch\n8B,8xH100,2048,8\n"), "lacks step_seconds"},
      {refused("model\n"), "has no runs"},
      {refused("model,cluster,sequence,batch,step_seconds,step_seconds\n8B,8xH100,2048,8,3,4\n"),
       "has the column 'step_seconds' twice"},
      {refused("model,tensor,cluster,tensor\n"), "has the column 'tensor' twice"},
  });
}

TEST_CASE("predict: few runs make the interval of runs like them shorter, and of others not") {
  std::string const made = (scratch() / "eight.json").string();
  REQUIRE(run_tool("predict --calibrate " + runs_as_of("") + " -o " + made).code == 0);
  auto const ends = [&](std::string const& run, std::string const& constants) {
    nlohmann::json const i = predicted_run(run + constants)["interval"];
    return i["high"].get<double>() / i["low"].get<double>();
  };
  std::string const own = " --constants " + made;
  std::string const like =
      "--model llama3-70b --cluster 8x8xH100 --sequence 4096 --batch 128 --tensor 8 --sharding "
      "optimizer "
      "--stack megatron-bridge";
  std::string const other =
      "--model llama3-8b --cluster 8xH100 --sequence 4096 --batch 64 --stack plain";
  CHECK(ends(like, own) < 0.95 * ends(like, ""));
  CHECK(ends(other, own) == doctest::Approx(ends(other, "")));
  std::string const text = run_tool("predict " + like + own).out;
  CHECK(contains(text, "nine of ten runs like your own were within"));
  CHECK(contains(text, "of this kind: dense, 16 bits; 8 of your own"));
}

TEST_CASE("predict: runs that contradict an assumed fact say so, and others do not") {
  std::string const as_assumed = run_tool("predict --calibrate " + runs_as_of("")).out;
  CHECK(contains(as_assumed, "8 runs; mean error 0.0 %"));
  CHECK(!contains(as_assumed, "look as if"));
  std::string const in_the_way =
      run_tool("predict --calibrate " + runs_as_of(" --fact tensor-overlap=off")).out;
  CHECK(contains(in_the_way, "These runs look as if --fact tensor-overlap=off"));
}

TEST_CASE("predict: a file may have some constants, and the rest are the program's own") {
  std::string const run = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --sharding full";
  nlohmann::json const all = predicted_run(run);
  nlohmann::json const one = predicted_run(
      run + " --constants "
      + scratch_file("one.json", R"({"constants": {"memory": {"value": 0.25, "spread": 0.1}}})"));
  CHECK(one["terms"]["bytes"].get<double>() > 1.5 * all["terms"]["bytes"].get<double>());
  CHECK(one["terms"]["attention"] == all["terms"]["attention"]);
  all_refused({
      {"predict " + run + " --constants " + scratch_file("no.json", R"({"constants": {"memry": 1}})"),
       "\"memry\" is no constant; did you mean 'memory'?"},
      {"predict " + run + " --constants "
           + scratch_file("pairs.json",
                          R"({"constants": {}, "doubts": {"constants": ["memory"], "covariance": []}})"),
       "\"covariance\" must have a number for each pair"},
      {"predict " + run + " --constants "
           + scratch_file("more.json", R"({"constants": {"memory": 1.5}})"),
       "memory"},
  });
}

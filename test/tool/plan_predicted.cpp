// `ashlar plan` by the formulas of `ashlar predict`, from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace {

std::string const small_run = "--model 8B --sequence 4096 --cluster 2x8xH100 --batch 64 ";

nlohmann::json formula_plan(std::string const& arguments) {
  tool_result const r = run_tool("plan --as json " + arguments);
  CAPTURE(arguments);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// The options without quotes, which a shell takes off.
std::string in_shell(nlohmann::json const& plan) { return plan["options"].get<std::string>(); }

}  // namespace

TEST_CASE("plan by formulas: each plan is what predict says of it alone, and none of its is faster") {
  std::string const run = "--model 8B --cluster 2x8xH100 ";
  auto const p = formula_plan(small_run + "--top 4");
  REQUIRE(p["plans"].size() == 4);
  double last = 0;
  for (auto const& plan : p["plans"]) {
    auto const alone = predicted_run(run + in_shell(plan));
    CHECK(alone["step_seconds"] == plan["seconds"]);
    CHECK(alone["peak_bytes"] == plan["bytes"]);
    CHECK(alone["fits"] == true);
    CHECK(plan["seconds"].get<double>() >= last);
    CHECK(plan["bytes"].get<double>() <= p["memory_budget"].get<double>());
    int ranks = 1;
    for (char const* size : {"tensor", "context", "pipeline", "data"}) ranks *= plan[size].get<int>();
    CHECK(ranks == 16);
    last = plan["seconds"];
  }
  auto const best = predicted_run(small_run + "--best 1");
  CHECK(p["plans"][0]["seconds"] <= best["step_seconds"]);
  CHECK(p["parameters"] == best["parameters"]);
  CHECK(p["tried"] > 1000);
  CHECK(p["left_out"]["slower"] > 0);
}

TEST_CASE("plan by formulas: a part of the space, and a run of one's own against the best of it") {
  std::string const fixed = small_run + "--fix tensor=2,pipeline=4,sharding=optimizer --top 2 ";
  tool_result const r =
      run_tool("plan " + fixed + "--explain-against '--tensor 4 --pipeline 2 --sharding optimizer'");
  REQUIRE(r.code == 0);
  for (char const* part :
       {"layouts were tried", " were not checked: they are slower than the last of these",
        "Yours: ", "more than the first", "GiB on the fullest device", "products of matrices"})
    CHECK_MESSAGE(contains(r.out, part), part);
  auto const found = formula_plan(fixed);
  for (auto const& plan : found["plans"])
    CHECK((plan["tensor"] == 2 && plan["pipeline"] == 4 && plan["sharding"] == "optimizer"));
  auto const first = formula_plan(fixed)["plans"][0];
  std::string own = in_shell(first), quoted;
  for (char c : own) quoted += c == '\'' ? std::string("\"") : std::string(1, c);
  CHECK(contains(run_tool("plan " + fixed + "--explain-against '" + quoted + "'").out,
                 "as long as the first"));
  auto const divided =
      formula_plan(small_run + "--fix layout=9,8x2,7,tensor=2,pipeline=4 --top 2 --schedules 1f1b");
  CHECK(divided["plans"].size() == 2);
  for (auto const& plan : divided["plans"]) CHECK(contains(in_shell(plan), "--layout '9,8x2,7'"));
  auto const again = formula_plan(small_run + "--fix recompute=mlp,layernorm,tensor=2 --top 1");
  CHECK(contains(in_shell(again["plans"][0]), "--recompute layernorm,mlp"));
  all_refused(
      {{"plan " + small_run + "--fix tensors=2", "--fix takes NAME=VALUE"},
       {"plan " + small_run + "--fix tensor=2,4", "--fix takes NAME=VALUE"},
       {"plan " + small_run + "--fix 4,tensor=2", "--fix takes NAME=VALUE"},
       {"plan " + small_run + "--fix tensor", "--fix takes NAME=VALUE"},
       {"plan " + small_run + "--fix tensor=8,tensor=4", "--fix gives tensor twice"},
       {"plan " + small_run + "--fix layout=4,4,data=2,layout=8", "--fix gives layout twice"},
       {"plan " + small_run + "--fix tensor=3,data=5", "no layout is possible"},
       {"plan " + small_run + "--explain-against '--batch 32'", "its batch is 32, and the plan's 64"},
       {"plan " + small_run + "--schedules hanayo,nonsense", "not 'nonsense'"},
       {"plan --model llama3.1-405b --cluster 8xH100 --batch 8", "--sequence is required"}});
}

TEST_CASE("plan by formulas: schedules of the catalog on the best layouts") {
  std::string const fixed = small_run + "--fix tensor=2,pipeline=4,sharding=optimizer --top 30 ";
  bool has_others = false;
  auto const found = formula_plan(fixed);
  for (auto const& plan : found["plans"]) {
    if (plan["schedule"] == "1f1b" || plan["schedule"] == "interleaved") continue;
    has_others = true;
    auto const alone = predicted_run("--model 8B --cluster 2x8xH100 " + in_shell(plan));
    CHECK(alone["step_seconds"] == plan["seconds"]);
  }
  CHECK(has_others);
  auto const plain = formula_plan(fixed + "--schedules 1f1b");
  for (auto const& plan : plain["plans"]) CHECK(plan["schedule"] == "1f1b");
}

// 126 layers on 16 stages are 7, 8 x 14, 7, which Megatron-LM and torchtitan run.
TEST_CASE("plan by formulas: a published layout is found, and frameworks run it") {
  std::string const published =
      "--model llama3.1-405b --sequence 8192 --cluster 2048x8xH200 --batch 2048 --fix "
      "tensor=8,pipeline=16,context=1,micro-batch=1,chunks=1,recompute=none,sharding=optimizer "
      "--schedules 1f1b ";
  auto const p = formula_plan(published + "--top 1")["plans"][0];
  auto const of_report = predicted_run(
      "--model llama3.1-405b --sequence 8192 --cluster 2048x8xH200 --batch 2048 --tensor 8 --pipeline "
      "16 "
      "--sharding optimizer --layout 7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7");
  CHECK(of_report["fits"] == true);
  CHECK(p["seconds"] <= of_report["step_seconds"]);
  CHECK(p["division_bound"] == p["seconds"]);
  CHECK(!p["obstacles"].contains("megatron"));
  CHECK(contains(p["megatron"].get<std::string>(), "--kv-channels 128"));
  CHECK(contains(p["obstacles"]["torchtitan"].get<std::string>(), "not the optimizer's state alone"));
  CHECK(contains(p["obstacles"]["deepspeed"].get<std::string>(), "deals layers evenly"));
}

TEST_CASE("plan by formulas: configurations are read back as the same run") {
  struct emitted_run {
    char const *model, *sequence, *cluster, *batch, *fixed, *framework;
  };
  for (emitted_run const& e :
       {emitted_run{"llama3-70b", "8192", "8x8xH100", "64",
                    "tensor=8,pipeline=4,sharding=optimizer,recompute=none", "megatron"},
        emitted_run{"llama3-70b", "8192", "8x8xH100", "64",
                    "tensor=8,pipeline=4,sharding=optimizer,recompute=none", "megatron-bridge"},
        emitted_run{"deepseek-v3", "4096", "32x8xH800", "512",
                    "tensor=1,pipeline=16,expert=16,micro-batch=1,sharding=optimizer,recompute=full",
                    "megatron"},
        emitted_run{"qwen3-30b-a3b", "4096", "4x8xH100", "128",
                    "tensor=2,pipeline=2,expert=4,micro-batch=1,sharding=optimizer", "megatron-bridge"},
        emitted_run{"llama3-70b", "8192", "8x8xH100", "64",
                    "tensor=4,pipeline=4,sharding=optimizer,recompute=full,attention=flash_attention_2",
                    "megatron"},
        emitted_run{"llama3-70b", "8192", "8x8xH100", "64",
                    "tensor=4,pipeline=4,sharding=optimizer,recompute=full,sequence-parallel=off,"
                    "attention=cudnn",
                    "megatron"},
        emitted_run{"llama3-70b", "8192", "8x8xH100", "64",
                    "tensor=8,pipeline=1,sharding=full,recompute=full,sequence-parallel=off",
                    "torchtitan"},
        emitted_run{"gpt3-175b", "2048", "16x8xA100-80", "128",
                    "tensor=8,pipeline=8,micro-batch=1,sharding=optimizer", "megatron"},
        emitted_run{"llama3-70b", "8192", "8x8xH100", "64",
                    "tensor=8,pipeline=1,sharding=full,recompute=full", "torchtitan"}}) {
    CAPTURE(e.model);
    CAPTURE(e.framework);
    bool const is_titan = std::string_view(e.framework) == "torchtitan";
    std::string const file = (scratch() / (std::string("emitted.") + e.framework)).string();
    std::string const same = std::string("--model ") + e.model + " --cluster " + e.cluster
                             + " --sequence " + e.sequence + " --batch " + e.batch + " ";
    // Files say their program: torchtitan's is its own, that of Megatron-LM is guessed from the run.
    auto const p = formula_plan(same + "--top 1 --schedules 1f1b,interleaved --fix " + e.fixed
                                + (is_titan ? " --for torchtitan" : "") + " --emit " + e.framework + ":"
                                + file)["plans"][0];
    auto const asked =
        predicted_run(std::string("--model ") + e.model + " --cluster " + e.cluster + " " + in_shell(p));
    auto const read = predicted_run(std::string("--cluster ") + e.cluster
                                    + (is_titan ? " --torchtitan " : " --megatron ") + file);
    for (char const* number : {"parameters", "active_parameters", "prediction_parameters", "data"})
      CHECK(read[number] == asked[number]);
    CHECK(read["step_seconds"].get<double>()
          == doctest::Approx(asked["step_seconds"].get<double>()).epsilon(1e-9));
    CHECK(read["peak_bytes"].get<double>()
          == doctest::Approx(asked["peak_bytes"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("plan by formulas: the best of what a framework runs") {
  std::string const same = "--model llama3-8b --cluster 2x8xH100 --sequence 8192 --batch 64 ";
  auto const all = formula_plan(same + "--top 100")["plans"];
  for (std::string const framework : {"megatron", "megatron-bridge", "torchtitan", "deepspeed"}) {
    CAPTURE(framework);
    std::string const file = (scratch() / ("for." + framework)).string();
    auto const found =
        formula_plan(same + "--top 3 --for " + framework + " --emit " + framework + ":" + file);
    REQUIRE(found["plans"].size() == 3);
    for (auto const& plan : found["plans"]) CHECK(plan[framework] != "");
    if (framework == "torchtitan" || framework == "deepspeed")
      CHECK(found["left_out"]["unwanted"].get<int>() > 0);
    CHECK(content(file).size() > 100);
    double const best = found["plans"][0]["seconds"];
    int others = 0;
    for (auto const& plan : all)
      if (plan[framework] != "") {
        ++others;
        // torchtitan's plans are predicted as its program, compiled.
        nlohmann::json const own =
            framework == "torchtitan"
                ? predicted_run("--model llama3-8b --cluster 2x8xH100 " + in_shell(plan)
                                + " --stack torchtitan --fact "
                                  "fused-activation=on,fused-rotation=on,loss=chunks")["step_seconds"]
                : plan["seconds"];
        CHECK(best <= own.get<double>() * (1 + 1e-9));
      }
    CHECK(others > 0);
  }
  all_refused({{"plan " + same + "--for nanotron", "nanotron"},
               {"plan --model gemma2-9b --cluster 8xH100 --sequence 4096 --batch 64 --for megatron",
                "Megatron-LM (core 0.16) does not run this model: its attention sees a window"},
               {"plan --model qwen3-30b-a3b --cluster 8xH100 --sequence 4096 --batch 64 --for deepspeed",
                "DeepSpeed (0.17) runs no layout of this: its pipelines have no experts"},
               {"plan " + same + "--for deepspeed --schedules interleaved,zb-h1",
                "DeepSpeed (0.17) has none of these schedules"}});
}

TEST_CASE("plan by formulas: --emit writes a plan that the framework runs, or none, and says so") {
  std::string const same = small_run + "--top 2 ", file = (scratch() / "emitted").string();
  auto const emitted = [&](std::string const& more) {
    std::filesystem::remove(file);
    return run_tool("plan " + same + more + file);
  };
  // torchtitan shares weights or nothing, so it runs another plan.
  tool_result const other = emitted("--fix pipeline=2 --emit torchtitan:");
  CHECK(other.code == 0);
  CHECK(contains(other.out, "torchtitan (0.3) does not run the first"));
  CHECK(contains(other.err, "this is the fastest that it runs, "));
  CHECK(contains(content(file), "--parallelism.pipeline_parallel_degree 2"));
  tool_result const none = emitted("--schedules interleaved --fix pipeline=2 --emit deepspeed:");
  CHECK(none.code == 1);
  CHECK(contains(none.out, "The first:"));
  CHECK(contains(none.err, "emitted is not written: DeepSpeed (0.17) does not run the first plan"));
  CHECK(!std::filesystem::exists(file));
  std::string const known = "there are megatron, megatron-bridge, torchtitan, deepspeed";
  all_refused({{"plan " + same + "--emit nosuch:" + file, "no framework 'nosuch' is known; " + known},
               {"plan " + same + "--emit Megatron:" + file, "did you mean 'megatron'?; " + known},
               {"plan " + same + "--emit :" + file, "no framework ''"},
               {"plan " + same + "--emit megatron:", "names no file"},
               {"plan --model 8B --batch 64 --cluster 8xH100+8xA100 --emit nosuch:" + file, known}});
  CHECK(!std::filesystem::exists(file));
}

TEST_CASE("plan by formulas: pairs hide the experts' exchange, and Megatron-LM is told so") {
  std::string const file = (scratch() / "pairs.megatron").string();
  std::string const same = "--model qwen3-30b-a3b --cluster 16x8xH100 --sequence 4096 --batch 512 ";
  std::string const fixed = same + "--top 1 --fix pipeline=4,expert=32,tensor=1,sharding=optimizer ";
  auto const usual = formula_plan(fixed + "--schedules 1f1b,interleaved")["plans"][0],
             pairs =
                 formula_plan(fixed + "--schedules combined-1f1b --emit megatron:" + file)["plans"][0];
  CHECK(pairs["schedule"] == "combined-1f1b");
  CHECK(pairs["seconds"].get<double>() < 0.95 * usual["seconds"].get<double>());
  CHECK(!pairs["obstacles"].contains("megatron"));
  CHECK(contains(content(file), "--overlap-moe-expert-parallel-comm"));
  CHECK(contains(content(file), "--moe-token-dispatcher-type alltoall"));
  auto const read = predicted_run("--cluster 16x8xH100 --megatron " + file);
  CHECK(read["step_seconds"].get<double>()
        == doctest::Approx(pairs["seconds"].get<double>()).epsilon(1e-9));
}

TEST_CASE(
    "plan by formulas: what a training costs, memory that is left free, and files of the first plan") {
  std::string const fixed =
      small_run + "--fix tensor=2,pipeline=2,sharding=optimizer --top 2 --schedules 1f1b ";
  auto const whole = formula_plan(fixed), less = formula_plan(fixed + "--memory-margin 40");
  CHECK(less["memory_budget"].get<double>() < 0.65 * whole["memory_budget"].get<double>());
  tool_result const days = run_tool("plan " + fixed + "--objective days --tokens 100");
  CHECK(contains(days.out, "device hours"));
  auto const cost = formula_plan(fixed + "--objective cost")["plans"][0];
  CHECK(cost["device_hours"] <= whole["plans"][0]["device_hours"]);
  CHECK(contains(run_tool("plan " + fixed + "--as svg").out, "<svg"));
  CHECK(contains(run_tool("plan " + fixed + "--as html").out, "<!DOCTYPE html>"));
  std::string const json = (scratch() / "first.json").string(), csv = (scratch() / "first.csv").string(),
                    program = (scratch() / "program.csv").string();
  CHECK(
      run_tool("plan " + fixed + "--emit " + json + " --emit " + csv + " --emit-program " + program).code
      == 0);
  for (std::string const& file : {json, csv, program}) CHECK(run_tool("check " + file).code == 0);
  tool_result const none = run_tool("plan --model 175B --cluster 8xH100 --batch 8");
  CHECK(none.code == 1);
  CHECK(contains(none.out, "None fits; the smallest:"));
}

TEST_CASE("plan --why: each row is the plan of the changed question") {
  std::string const asked =
      "--model 8B --sequence 4096 --cluster 8xH100+8xA100 --batch 64 --top 1 --schedules 1f1b ";
  auto const p = formula_plan(asked + "--why");
  double const first = p["plans"][0]["seconds"];
  std::set<std::string> changes;
  for (auto const& each : p["what_if"]) {
    std::string const change = each["change"];
    CHECK(changes.insert(change).second);
    bool const is_freer = contains(change, "memory") || contains(change, "twice");
    if (each["seconds"].is_null()) continue;
    double const seconds = each["seconds"];
    CHECK_MESSAGE((is_freer ? seconds <= first : seconds >= first), change);
    if (change == "tensor 4")
      CHECK(formula_plan(asked + "--fix tensor=4")["plans"][0]["seconds"] == each["seconds"]);
    if (change == "H100 alone")
      CHECK(
          formula_plan("--model 8B --sequence 4096 --cluster 8xH100 --batch 64 --top 1 --schedules 1f1b")
              ["plans"][0]["seconds"]
          == each["seconds"]);
  }
  for (char const* each : {"H100 alone", "A100-80 alone", "10 % more memory", "no limit on memory",
                           "links twice as fast inside domains", "links twice as fast between domains"})
    CHECK_MESSAGE(changes.count(each) == 1, each);
  CHECK(changes.count("tensor 8") == 1);
  std::string const text = run_tool("plan " + asked + "--why --fix tensor=2,pipeline=2").out;
  CHECK(contains(text, "Why: the best plan of the same question, changed in one point."));
  CHECK(!contains(text, "tensor 4"));
  all_refused({{"plan " + asked + "--why --objective cost", "--why"},
               {"plan " + asked + "--why --as svg", "--why"}});
}

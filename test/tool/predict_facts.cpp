// Facts about the training program: given, assumed, and those that decide the step.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"
#include <ashlar/cost/question/facts.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace {

std::string const this_run =
    "--model llama3-8b --cluster 8xH100 --sequence 4096 --batch 64 --tensor 4 --sharding optimizer ";

double seconds(std::string const& arguments) {
  return predicted_run(this_run + arguments)["step_seconds"].get<double>();
}

}  // namespace

TEST_CASE("facts: a program has its own defaults, and a run may say others") {
  double const beside = seconds("--stack megatron-bridge"),
               in_the_way = seconds("--stack megatron-core");
  CHECK(beside < in_the_way);
  CHECK(seconds("--stack megatron-bridge --fact tensor-overlap=off") > beside);
  CHECK(seconds("--stack megatron-core --fact tensor-overlap=on --fact data-overlap=on") < in_the_way);
  CHECK(seconds("--stack megatron-core --fact tensor-overlap=on,data-overlap=on")
        == seconds("--stack megatron-core --fact tensor-overlap=on --fact data-overlap=on"));
  CHECK(predicted_run(this_run)["program"] == "megatron-core");
  CHECK(predicted_run(this_run + "--precision fp8")["program"] == "megatron-bridge");
}

TEST_CASE("facts: graphs take the host's time, and tokens that go once move less") {
  std::string const run =
      "--model qwen3-30b-a3b --cluster 8xH100 --sequence 4096 --batch 64 --expert 8 --sharding "
      "optimizer "
      "--stack megatron-bridge --fact ";
  auto const with = [&](char const* facts) {
    return predicted_run(run + facts)["step_seconds"].get<double>();
  };
  CHECK(with("graphs=layers") < with("graphs=none"));
  CHECK(with("graphs=step") <= with("graphs=layers"));
  CHECK(with("graphs=step,expert-dispatch=once") < with("graphs=step,expert-dispatch=all-to-all"));
  CHECK(with("graphs=step,expert-overlap=on") < with("graphs=step,expert-overlap=off"));
}

TEST_CASE("facts: --explain says which were given, and what is no fact is refused") {
  std::string const out = run_tool("predict --explain " + this_run + "--fact graphs=step").out;
  for (char const* each :
       {"graphs", "given", "assumed", "assumed facts are those of megatron/training/arguments.py"})
    CHECK(contains(out, each));
  all_refused({{"predict " + this_run + "--fact overlap=on", "'overlap' is no fact"},
               {"predict " + this_run + "--fact graphs=some",
                "'some' is none of its values: none, layers, step"},
               {"predict " + this_run + "--fact graphs", "'' is none of its values"}});
}

TEST_CASE("facts: an assumed fact that takes the step out of its interval is told") {
  std::string const run =
      "predict --model llama3-70b --cluster 8xB200 --sequence 4096 --batch 32 --tensor 8 --sharding "
      "optimizer "
      "--stack megatron-core";
  CHECK(contains(run_tool(run).out, "with --fact tensor-overlap=on: "));
  CHECK(!contains(run_tool(run + " --fact tensor-overlap=off").out, "with --fact tensor-overlap"));
}

TEST_CASE("facts: exactly those are told whose other value takes the step out of its interval") {
  using ashlar::cost::fact_table;
  std::set<std::string> told_once;
  for (char const* run :
       {"--model llama3-70b --cluster 8x8xB200 --sequence 8192 --batch 64 --tensor 8 --pipeline 2 "
        "--precision fp8",
        "--model llama3-70b --cluster 64x8xH100 --sequence 2048 --batch 512 --sharding optimizer "
        "--stack megatron-core",
        "--model deepseek-v3 --cluster 128x8xH100 --sequence 4096 --batch 8192 --tensor 2 --pipeline 8 "
        "--expert 64 --sharding optimizer --precision fp8",
        "--model qwen3-30b-a3b --cluster 8xB200 --sequence 1024 --batch 8 --expert 8 --sharding "
        "optimizer",
        "--model qwen3-30b-a3b --cluster 16x8xB200 --sequence 4096 --batch 512 --expert 128 --sharding "
        "optimizer --micro-batch 4 --precision mxfp8",
        "--model llama3-8b --cluster 8xH100 --sequence 131072 --batch 8 --context 8 --sharding "
        "optimizer",
        "--model llama3-8b --cluster 8x8xH100 --sequence 8192 --batch 64 --stack plain"}) {
    nlohmann::json const base = predicted_run(run);
    double const low = base["interval"]["low"], high = base["interval"]["high"];
    nlohmann::json told = base.value("decisive_facts", nlohmann::json::object());
    for (auto const& fact : fact_table)
      for (char const* value : fact.values) {
        if (value == nullptr) continue;
        std::string const name = fact.name, word = name + "=" + value;
        nlohmann::json const other = predicted_run(std::string(run) + " --fact " + word);
        double const seconds = other["step_seconds"];
        // Only values that published runs have are told.
        bool const is_known =
            !contains(other.value("beyond_the_data", nlohmann::json::array()).dump(), "such " + name);
        INFO(run << " " << word);
        CHECK(told.contains(word) == (is_known && (seconds < low || seconds > high)));
        if (!told.contains(word)) continue;
        CHECK(told[word].get<double>() == doctest::Approx(seconds));
        told_once.insert(fact.name);
        told.erase(word);
      }
    CHECK(told.empty());
  }
  std::string names;
  for (std::string const& each : told_once) names += each + " ";
  CHECK(names == "context-balance data-overlap expert-overlap graphs tensor-overlap ");
}

TEST_CASE("facts: a file of a run keeps them, and what is said beside it replaces single ones") {
  std::string const file = (scratch() / "facts_run.json").string();
  std::string const said = this_run + "--fact graphs=step,tensor-overlap=on ";
  REQUIRE(run_tool("predict --as run -o " + file + " " + said).code == 0);
  CHECK(predicted_run("--run " + file)["step_seconds"] == predicted_run(said)["step_seconds"]);
  CHECK(predicted_run("--run " + file + " --fact tensor-overlap=off")["step_seconds"]
        == predicted_run(this_run + "--fact graphs=step,tensor-overlap=off")["step_seconds"]);
}

TEST_CASE("facts: arguments of Megatron-LM say them, and absent ones say its defaults") {
  std::string const usual =
      "torchrun pretrain_gpt.py --num-layers 16 --hidden-size 4096 --num-attention-heads 32 "
      "--num-experts 8 --moe-router-topk 4 --moe-ffn-hidden-size 4096 --ffn-hidden-size 4096 --swiglu "
      "--seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --micro-batch-size 1 "
      "--global-batch-size 64 --tensor-model-parallel-size 2 --expert-model-parallel-size 8 "
      "--expert-tensor-parallel-size 1 --sequence-parallel --use-distributed-optimizer --bf16 "
      "--position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear "
      "--normalization RMSNorm";
  auto const read = [&](std::string const& more, std::string const& beside = "") {
    std::string const file = scratch_file("facts.sh", usual + more + "\n");
    return predicted_run("--megatron " + file + " --cluster 2x8xH100 " + beside);
  };
  nlohmann::json const plain = read(" --moe-token-dispatcher-type alltoall");
  CHECK(plain["program"] == "megatron-core");
  auto const is_as = [&](std::string const& arguments, std::string const& fact) {
    CAPTURE(arguments);
    double const step = read(" --moe-token-dispatcher-type alltoall" + arguments)["step_seconds"];
    CHECK(step == read(" --moe-token-dispatcher-type alltoall", "--fact " + fact)["step_seconds"]);
    CHECK(step != plain["step_seconds"]);
  };
  is_as(" --tp-comm-overlap", "tensor-overlap=on");
  is_as(" --overlap-grad-reduce --overlap-param-gather", "data-overlap=on");
  is_as(" --no-bias-swiglu-fusion", "fused-activation=off");
  is_as(" --no-rope-fusion", "fused-rotation=off");
  CHECK(read(" --moe-token-dispatcher-type flex")["step_seconds"]
        == read(" --moe-token-dispatcher-type alltoall", "--fact expert-dispatch=once")["step_seconds"]);
  for (auto const& said_as :
       {std::pair{" --cuda-graph-impl transformer_engine", "graphs=layers"},
        std::pair{" --cuda-graph-impl local --cuda-graph-scope full_iteration", "graphs=step"},
        std::pair{"", "expert-dispatch=all-gather"}, std::pair{"", "expert-products=loop"},
        std::pair{"", "fused-permutation=off"},
        std::pair{" --moe-grouped-gemm", "expert-products=grouped"},
        std::pair{" --moe-permute-fusion", "fused-permutation=on"},
        std::pair{" --moe-shared-expert-overlap", "expert-overlap=shared"},
        std::pair{" --moe-expert-capacity-factor 1.25", "capacity=1.25"},
        std::pair{" --moe-expert-capacity-factor 1.25 --moe-pad-expert-input-to-capacity",
                  "imbalance=1.25"},
        std::pair{" --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 1000000",
                  "bucket=1000000"},
        std::pair{" --use-precision-aware-optimizer", "main-weights=rest"},
        std::pair{" --use-precision-aware-optimizer --main-params-dtype fp16 --exp-avg-dtype bf16 "
                  "--exp-avg-sq-dtype fp8",
                  "main-weights=16-bit,first-moment=16-bit,second-moment=8-bit"},
        std::pair{" --fp8-format hybrid", "scales=delayed"},
        std::pair{" --fp8-format hybrid --fp8-recipe tensorwise", "scales=current"},
        std::pair{" --fp8-format hybrid --fp8-recipe blockwise", "scales=blocks"},
        std::pair{" --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 "
                  "--no-overlap-p2p-communication",
                  "transfers=batched"}}) {
    CAPTURE(said_as.first);
    nlohmann::json const said = read(said_as.first);
    CHECK(contains(said["options"].get<std::string>(), said_as.second));
    CHECK(!contains(said.dump(), "not known"));
  }
  for (char const* each : {"bucket=", "scales=", "transfers=", "main-weights=", "capacity="})
    CHECK(!contains(plain["options"].get<std::string>(), each));
}

TEST_CASE("facts: numbers are said and printed, and those out of range are refused") {
  std::string const run = this_run + "--fact data-overlap=on,bucket=1000000 ";
  std::string const out = run_tool("predict --explain " + run).out;
  CHECK(contains(out, "bucket             1000000     given"));
  CHECK(contains(out, "imbalance          1           assumed"));
  CHECK(seconds("--fact data-overlap=on,bucket=1000000")
        > seconds("--fact data-overlap=on,bucket=400000000"));
  std::string const file = (scratch() / "bucket_run.json").string();
  REQUIRE(run_tool("predict --as run -o " + file + " " + run).code == 0);
  CHECK(predicted_run("--run " + file)["step_seconds"] == predicted_run(run)["step_seconds"]);
  all_refused({{"predict " + this_run + "--fact imbalance=0.5",
                "--fact imbalance must be a number from 1 to 1000000"},
               {"predict " + this_run + "--fact bucket=many", "--fact bucket must be a number"}});
}

TEST_CASE("facts: what no published run is known to do makes the interval wider, and is named") {
  auto const widens = [](std::string const& run, std::string const& fact) {
    CAPTURE(fact);
    nlohmann::json const usual = predicted_run(run), other = predicted_run(run + "--fact " + fact);
    double const before =
                     usual["interval"]["high"].get<double>() / usual["interval"]["low"].get<double>(),
                 after =
                     other["interval"]["high"].get<double>() / other["interval"]["low"].get<double>();
    CHECK(after > before);
    CHECK(contains(run_tool("predict " + run + "--fact " + fact).out,
                   "wider, because no published run has: such " + fact.substr(0, fact.find('='))));
  };
  for (char const* fact :
       {"fused-norm=off", "main-weights=rest", "first-moment=8-bit", "second-moment=4-bit"})
    widens(this_run, fact);
  std::string const routed =
      "--model qwen3-30b-a3b --cluster 8xH100 --sequence 4096 --batch 64 --expert 8 ";
  for (char const* fact : {"expert-products=loop", "expert-products=single", "fused-permutation=off",
                           "expert-dispatch=all-gather", "imbalance=1.5", "capacity=1.5"})
    widens(routed, fact);
  CHECK(predicted_run(this_run + "--fact imbalance=2")["interval"]
        == predicted_run(this_run)["interval"]);
}

// --emit refuses a fact that the framework has no argument for, and says what is done in its place.
TEST_CASE("facts: each that a plan says is read back from its file, or has no argument") {
  std::string const on = "--cluster 4x8xH100 ", run = (scratch() / "facts.run.json").string(),
                    plan = (scratch() / "facts.plan.json").string();
  int written = 0, refused = 0;
  for (char const* framework : {"megatron", "megatron-bridge"})
    for (char const* fact : {"bucket=1000000",
                             "bucket=1000000,data-overlap=on",
                             "capacity=1.5",
                             "expert-dispatch=all-gather",
                             "expert-overlap=shared",
                             "expert-products=loop",
                             "expert-products=single",
                             "first-moment=16-bit",
                             "fused-norm=off",
                             "fused-permutation=off",
                             "main-weights=16-bit",
                             "main-weights=rest",
                             "main-weights=rest,first-moment=8-bit",
                             "first-moment=4-bit",
                             "scales=blocks",
                             "scales=current",
                             "scales=delayed",
                             "transfers=batched",
                             "transfers=beside",
                             "transfers=single"}) {
      CAPTURE(framework);
      CAPTURE(fact);
      std::string const file = (scratch() / (std::string("facts.") + framework)).string(),
                        fixed = "tensor=1,pipeline=2,chunks=1,expert=8,sharding=optimizer",
                        words = std::string("--stack ")
                                + (std::string(framework) == "megatron" ? "megatron-core "
                                                                        : "megatron-bridge ");
      REQUIRE(run_tool(
                  "predict --model qwen3-30b-a3b --sequence 4096 --batch 128 --precision fp8 --tensor 1 "
                  "--pipeline 2 --expert 8 --data 16 --sharding optimizer "
                  + on + words + "--as run --output " + run + " --fact " + fact)
                  .code
              == 0);
      tool_result const said =
          run_tool("plan --run " + run + " --top 1 --schedules 1f1b --fix " + fixed
                   + " --as json --output " + plan + " --emit " + framework + ":" + file);
      if (said.code != 0) {
        ++refused;
        CHECK(contains(said.err, "does not run the first plan: "));
        continue;
      }
      ++written;
      nlohmann::json const first = nlohmann::json::parse(content(plan))["plans"][0];
      CHECK(predicted_run(on + words + "--megatron " + file)["step_seconds"].get<double>()
            == doctest::Approx(first["seconds"].get<double>()).epsilon(1e-9));
    }
  CHECK((written > 20 && refused > 7));
}

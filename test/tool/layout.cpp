// `ashlar layout` from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const deep =
    "--model deepseek-v3 --cluster 128x8xH100 --sequence 4096 --batch 8192 --tensor 2 --expert 64 "
    "--sharding optimizer --recompute full ";
std::string const dense_llama =
    "--model llama3-70b --cluster 8x8xH100 --sequence 8192 --batch 128 --tensor 4 --sharding optimizer ";

nlohmann::json dealt(std::string const& options, int code = 0) {
  tool_result const ran = run_tool("layout " + options + " --as json");
  CAPTURE(ran.err);
  REQUIRE(ran.code == code);
  return nlohmann::json::parse(ran.out);
}

// Three predictions of a small mixture.
std::string predicting_model(int layers) {
  return scratch_file("predicting.json",
                      R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 3, )"
                      R"("first_k_dense_replace": 1, "num_hidden_layers": )"
                          + std::to_string(layers) + "}");
}

}  // namespace

TEST_CASE("layout: predict has the same step and memory for what it finds and what it compares") {
  std::string const run = deep + "--pipeline 16 --chunks 2 ", typed = "'Et*3|(tt|)*29m|L'";
  auto const found = dealt(run + "--against " + typed);
  auto const again = predicted_run(run + "--layout '" + found["layout"].get<std::string>() + "'");
  CHECK(again["step_seconds"] == found["step_seconds"]);
  CHECK(again["peak_bytes"] == found["peak_bytes"]);
  auto const other = predicted_run(run + "--layout " + typed);
  CHECK(other["step_seconds"] == found["against"]["step_seconds"]);
  CHECK(found["step_seconds"] <= other["step_seconds"]);
  CHECK(found["bound_seconds"] <= found["step_seconds"]);
  CHECK(found["stages"].size() == 32);
}

TEST_CASE("layout: schedules that are executed have their layers dealt, too") {
  std::string const run =
      "--model llama3-70b --cluster 4x8xH100 --sequence 4096 --batch 64 --tensor 8 "
      "--sharding optimizer --pipeline 4 ";
  for (std::string const of : {"--schedule zb-h1 ", "--schedule v-zb ", "--lanes one "}) {
    CAPTURE(of);
    auto const found = dealt(run + of);
    auto const again = predicted_run(run + of + "--layout '" + found["layout"].get<std::string>() + "'");
    CHECK(again["step_seconds"] == found["step_seconds"]);
    CHECK(again["peak_bytes"] == found["peak_bytes"]);
    CHECK(found["step_seconds"] < found["against"]["step_seconds"]);
    CHECK(found["bound_seconds"] > 0);
    CHECK(found["bound_seconds"] <= found["step_seconds"]);
  }
  tool_result const unproved = run_tool("layout " + run + "--schedule zb-h1 --certificate "
                                        + (scratch() / "executed.json").string());
  CHECK(unproved.code == 4);
  CHECK(contains(unproved.err, "a schedule without a closed form"));
  auto const vee = dealt(run + "--schedule v-zb");
  CHECK(vee["stages"].size() == 8);
  CHECK(vee["stages"][7]["device"] == 0);
  CHECK(vee["stages"][7]["kept_bytes"] > 0);
}

TEST_CASE("layout: 40 layers on 8 ranks with 2 virtual stages") {
  std::string const model = scratch_file(
      "forty.json",
      R"({"model_type": "llama", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40,)"
      R"( "intermediate_size": 13824, "vocab_size": 32000})");
  auto const found = dealt("--model " + model
                           + " --cluster 8x8xH100 --sequence 4096 --batch 512 --pipeline 8 --chunks 2 "
                             "--sharding optimizer");
  int layers = 0;
  for (auto const& stage : found["stages"]) layers += stage["layers"].get<int>();
  CHECK(layers == 40);
  CHECK(found["stages"].size() == 16);
}

TEST_CASE("layout: the stages as each framework writes them") {
  CHECK(run_tool("layout " + dense_llama + "--pipeline 4 --as deepspeed").out
        == "parts = [0, 20, 41, 62, 82]\n");
  std::string const titan = run_tool("layout " + dense_llama + "--pipeline 4 --as torchtitan").out;
  CHECK(contains(titan, "module_fqns_per_model_part = [\n    [\"tok_embeddings\", \"layers.0\","));
  CHECK(contains(titan, "\"layers.79\", \"norm\", \"lm_head\"],\n]\n"));
  std::string const megatron =
      run_tool("layout " + dense_llama + "--pipeline 4 --chunks 5 --as megatron").out;
  CHECK((megatron.starts_with("--pipeline-model-parallel-layout 'E") && megatron.ends_with("L'\n")));
  CHECK(contains(run_tool("layout " + dense_llama + "--pipeline 4 --chunks 5 --as megatron-bridge").out,
                 "L\"' model.virtual_pipeline_model_parallel_size=5\n"));
  std::string const predicts = deep + "--pipeline 16 --as ";
  all_refused({{"layout " + predicts + "torchtitan", "no layers that predict further tokens"}});
  all_refused(
      {{"layout " + dense_llama + "--pipeline 4 --chunks 5 --as deepspeed", "no virtual stages"}});
}

TEST_CASE("layout: losses on several stages") {
  std::string const run = "--model " + predicting_model(10)
                          + " --cluster 8x8xH200 --sequence 4096 --batch 512 --pipeline 4 --chunks 3 "
                            "--expert 8 --sharding optimizer --recompute full ";
  auto const together = dealt(run), spread = dealt(run + "--spread-losses");
  CHECK(spread["step_seconds"] < together["step_seconds"]);
  CHECK(contains(spread["notes"].dump(), "on several stages"));
  CHECK(!contains(together["notes"].dump(), "on several stages"));
  all_refused({{"layout " + run + "--against 'E|(t|)*10mmmLLL'",
                "--layout has 3 L: it must have one, which takes all losses, or 4"}});
}

TEST_CASE("layout: the layout of a file is compared, and wrong use is refused") {
  std::string const script = scratch_file(
      "run.sh",
      "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
      "--ffn-hidden-size 14336 --swiglu --vocab-size 128256 --seq-length 4096 "
      "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 256 --bf16 "
      "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et*8|(t*8|)*2t*8L' "
      "--use-distributed-optimizer --untie-embeddings-and-output-weights\n");
  auto const found = dealt("--megatron " + script + " --cluster 2x8xH100");
  CHECK(found["against"]["layout"] == "Et*8|(t*8|)*2t*8L");
  CHECK(found["against"]["percent_slower"] > 0);
  all_refused({{"layout " + dense_llama + "--pipeline 4 --layout 20x4", "--against compares one"}});
  all_refused({{"layout " + dense_llama, "--pipeline 1 is one stage"}});
  all_refused({{"layout " + dense_llama + "--pipeline 4 --chunks 40",
                "160 stages on --pipeline 4 for the 82 parts"}});
  all_refused({{"layout " + dense_llama + "--pipeline 4 --schedule v-zb --chunks 40", "chunks"}});
  all_refused({{"layout " + dense_llama + "--pipeline 4 --schedule zb-h1 --as megatron", "1F1B"}});
  all_refused({{"layout " + dense_llama + "--pipeline 4 --as json --explain", "it is for text"}});
}

TEST_CASE("layout: what does not fit holds no more than what it is compared with") {
  std::string const run =
      "--model llama3-70b --cluster 1x8xA100 --sequence 8192 --batch 64 --pipeline 8 --against "
      "10x8 ";
  auto const found = dealt(run, 1);
  CHECK(found["fits"] == false);
  CHECK(found["peak_bytes"] <= found["against"]["peak_bytes"]);
}

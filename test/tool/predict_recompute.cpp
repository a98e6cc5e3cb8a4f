// `ashlar predict --recompute` from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const routed_run =
    "--model deepseek-v3 --cluster 64x8xH100 --sequence 4096 --batch 1024 --tensor 2 --pipeline 8 "
    "--expert 32 --sharding optimizer ";
std::string const dense_run =
    "--model 8B --cluster 2x8xH100 --sequence 4096 --batch 64 --pipeline 4 --stack megatron-core ";

}  // namespace

TEST_CASE("predict --recompute: parts as Megatron names them take time and free memory") {
  auto const none = predicted_run(routed_run);
  double last_peak = none["peak_bytes"];
  for (char const* parts : {"layernorm", "layernorm,moe_act", "layernorm,moe_act,mla_up_proj",
                            "layernorm,moe_act,mla_up_proj,moe,mlp", "full"}) {
    CAPTURE(parts);
    auto const run = predicted_run(routed_run + "--recompute " + parts);
    CHECK(run["peak_bytes"].get<double>() < last_peak);
    CHECK(run["step_seconds"].get<double>() > none["step_seconds"].get<double>());
    CHECK(relative_width(run) == doctest::Approx(relative_width(none)));
    last_peak = run["peak_bytes"];
  }
  CHECK(predicted_run(routed_run + "--recompute core_attn")
        == predicted_run(routed_run + "--recompute attention"));
  CHECK(contains(run_tool("predict " + routed_run + "--recompute layernorm,moe_act").out,
                 "--recompute layernorm,moe_act"));
}

TEST_CASE("predict --recompute: a file, and the first layers of each stage") {
  auto const file = [](char const* name, std::string const& text) { return scratch_file(name, text); };
  auto const run = [&](std::string const& what) {
    auto said = predicted_run(dense_run + "--recompute " + what);
    std::string const options = said["options"];
    CHECK((what == "full:0" || contains(options, "--recompute full") || contains(options, what)));
    said.erase("options");  // they name the file
    return said;
  };
  auto const full = run("full"), two = run("full:2");
  CHECK(contains(predicted_run(dense_run + "--recompute full:2")["options"].get<std::string>(),
                 "--recompute full:2"));
  CHECK(run(file("all.json", R"({"modules": ["full"]})")) == full);
  CHECK(run("full:8")["step_seconds"] == full["step_seconds"]);
  CHECK(run(file("two.json", R"({"modules": ["full"], "layers": 2})")) == two);
  // The first two of eight, four times.
  CHECK(run(file("listed.json", R"({"modules": ["full"], "layers": [0, 1, 8, 9, 16, 17, 24, 25]})"))
        == two);
  auto plain = predicted_run(dense_run);
  plain.erase("options");
  CHECK(run("full:0") == plain);
  double const none = predicted_run(dense_run)["terms"]["products"];
  CHECK(two["terms"]["products"].get<double>() - none
        == doctest::Approx((full["terms"]["products"].get<double>() - none) / 4));
}

TEST_CASE("predict --recompute: Megatron's arguments say it, too") {
  std::string const model =
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --bf16 "
      "--seq-length 4096 --swiglu --vocab-size 128256 --micro-batch-size 1 --global-batch-size 64 "
      "--pipeline-model-parallel-size 4 ";
  auto const run = [&](std::string const& how) {
    return predicted_run("--cluster 2x8xH100 --stack megatron-core --megatron "
                         + scratch_file("again.sh", model + how))["step_seconds"];
  };
  auto const same = [&](std::string const& parts) {
    return predicted_run("--cluster 2x8xH100 --stack megatron-core --recompute " + parts + " --megatron "
                         + scratch_file("once.sh", model))["step_seconds"];
  };
  CHECK(run("--recompute-granularity selective") == same("attention"));
  CHECK(run("--recompute-granularity selective --recompute-modules layernorm mlp --lr 1e-4")
        == same("mlp,layernorm"));
  CHECK(run("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1")
        == same("full"));
  CHECK(run("--recompute-granularity full --recompute-method block --recompute-num-layers 3")
        == same("full:3"));
}

TEST_CASE("predict --attention: unfused, scores are kept; Megatron's arguments say it, too") {
  std::string const run = "--model gpt2 --cluster 8xA100-80 --sequence 1024 --batch 64 --micro-batch 4 ";
  auto const fused = predicted_run(run), unfused = predicted_run(run + "--attention unfused");
  // 12 layers of 12 heads, 5 bytes a score.
  CHECK(unfused["peak_bytes"].get<double>() - fused["peak_bytes"].get<double>()
        == doctest::Approx(12 * 12.0 * 5 * 4 * 1024 * 1024));
  CHECK(relative_width(unfused) > relative_width(fused));
  CHECK(predicted_run(run + "--attention fused")["step_seconds"] == fused["step_seconds"]);
  std::string const model =
      "--num-layers 12 --hidden-size 768 --num-attention-heads 12 --bf16 --seq-length 1024 --vocab-size "
      "50257 --micro-batch-size 4 --global-batch-size 64 ";
  auto const peak = [&](std::string const& how) {
    return predicted_run("--cluster 8xA100-80 --megatron "
                         + scratch_file("heads.sh", model + how))["peak_bytes"]
        .get<double>();
  };
  CHECK(peak("--attention-backend flash") == peak(""));
  CHECK(peak("--attention-backend unfused") > peak(""));
  CHECK(peak("--transformer-impl local") == peak("--attention-backend unfused"));
}

TEST_CASE("predict --recompute: what it cannot be is said") {
  std::string const go = "predict " + dense_run + "--recompute ";
  all_refused({
      {go + "ful", "did you mean 'full'?"},
      {go + "moe_act", "no layer of the model has a part 'moe_act'"},
      {go + "mlp,", "no part '' is known"},
      {go + "full:x", "layers of each stage must be from 0 to 32"},
      {go + "full:33", "layers of each stage must be from 0 to 32"},
      {go + "no.json", "cannot read 'no.json'"},
      {go + scratch_file("key.json", R"({"modules": ["mlp"], "layer": 3})"), "\"layer\" is not known"},
      {go + scratch_file("word.json", R"({"modules": ["layernrm"]})"), "did you mean 'layernorm'?"},
      {go + scratch_file("far.json", R"({"modules": ["mlp"], "layers": [32]})"),
       "\"layers\" must be a whole number from 0 to 31"},
      {go + scratch_file("none.json", R"({"layers": 3})"), "lacks \"modules\""},
  });
}

TEST_CASE("predict --recompute: every n-th layer of the model") {
  std::string const file =
      scratch_file("every.json", R"({"modules": ["full"], "layers": [0, 4, 8, 12, 16, 20, 24, 28]})");
  auto const run = [&](std::string const& what) {
    auto said = predicted_run(dense_run + "--recompute " + what);
    said.erase("options");
    return said;
  };
  CHECK(run("full:4n") == run(file));
  CHECK(run("full:4n+1,4n+2,4n+3")["peak_bytes"] < run("full:4n")["peak_bytes"]);
  CHECK(run("full:2n,2n+1")["step_seconds"] == run("full")["step_seconds"]);
  CHECK(run("full:40n") == run(scratch_file("first.json", R"({"modules": ["full"], "layers": [0]})")));
  std::string const written =
      scratch_file("nth.json", run_tool("predict " + dense_run + "--recompute full:4n --as run").out);
  CHECK(predicted_run("--run " + written)["step_seconds"] == run("full:4n")["step_seconds"]);
  all_refused({{"predict " + dense_run + "--recompute full:n", "n-th layers"},
               {"predict " + dense_run + "--recompute full:0n", "n-th layers"},
               {"predict " + dense_run + "--recompute full:4n+4", "the first of n-th layers"},
               {"predict " + dense_run + "--recompute full:4n,3", "'3' names no layers"},
               {"predict " + dense_run + "--recompute full:4n-1", "'4n-1' names no layers"}});
}

// `ashlar predict --optimizer` from end to end. test/tool/optimizer_state.py compares with packages.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const on_one_device =
    "--model 8B --cluster 1xH200 --sequence 2048 --batch 1 --precision fp32 ";

double state_of(std::string const& words) {
  return predicted_run(on_one_device + words)["memory"][0]["optimizer"].get<double>();
}

}  // namespace

TEST_CASE("predict --optimizer: bytes of the state, and no interval") {
  double const adam = state_of(""), table = 4.0 * 128256 * 4096, norms = 4.0 * 32 * 2 * 4096;
  CHECK(state_of("--optimizer adam") == adam);
  CHECK(state_of("--optimizer lion") == adam / 2);
  CHECK(state_of("--optimizer lion --fact first-moment=8-bit") == adam / 8);
  CHECK(state_of("--optimizer sgd") == 0);
  CHECK(state_of("--optimizer ademamix") == adam / 2 * 3);
  CHECK(state_of("--optimizer muon") == adam / 2 + 2 * table + norms);
  double const linear = 4.0 * 32 * (2 * (4096 + 4096) + 2 * (1024 + 4096) + 3 * (14336 + 4096));
  CHECK(state_of("--optimizer adafactor") == linear + 2 * 4 * (128256 + 4096) + norms);
  auto const muon = predicted_run(on_one_device + "--optimizer muon"),
             usual = predicted_run(on_one_device);
  CHECK(muon["interval"].is_null());
  CHECK(muon["step_seconds"] > usual["step_seconds"]);
  CHECK(predicted_run(on_one_device + "--optimizer galore,128,layerwise")["peak_bytes"]
        < predicted_run(on_one_device + "--optimizer galore,128")["peak_bytes"]);
}

TEST_CASE("predict --optimizer: beside adapters, frozen layers and shards") {
  std::string const adapted = on_one_device + "--lora 8,q_proj ";
  auto const state = [](std::string const& line) {
    return predicted_run(line)["memory"][0]["optimizer"].get<double>();
  };
  CHECK(state(adapted + "--optimizer muon") == state(adapted) / 2);
  double const layer = 2.0 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336 + 2 * 4096;
  CHECK(state(on_one_device + "--optimizer muon --train-only last=1") == 4 * (layer + 2 * 4096));
  std::string const shared = "--model 8B --cluster 8xH200 --sequence 2048 --batch 8 --sharding full ";
  double const table = 128256.0 * 4096, all = 8030261248.0 - 4096;
  CHECK(state(shared + "--optimizer muon") == 4 * (all + 2 * table + 32 * 2 * 4096) / 8);
}

TEST_CASE("predict --optimizer: a run's file keeps it, and plan reads it there") {
  std::string const run = "--model 8B --cluster 8xH200 --sequence 2048 --batch 64 --optimizer lion ";
  std::string const file = scratch_file("lion.json", run_tool("predict " + run + "--as run").out);
  CHECK(predicted_run("--run " + file)["peak_bytes"] == predicted_run(run)["peak_bytes"]);
  CHECK(contains(run_tool("plan --run " + file + " --top 1 --explain-against " + file, 60).out,
                 "--optimizer lion"));
}

TEST_CASE("predict --optimizer: what is refused says why") {
  std::string const eight = "predict --model 8B --cluster 8xH200 --sequence 2048 --batch 64 ";
  all_refused(
      {{eight + "--optimizer mion", "there are adam, sgd"},
       {eight + "--optimizer galore", "the rank"},
       {eight + "--optimizer lion,qkv_proj", "means nothing behind it"},
       {eight + "--optimizer muon --tensor 2", "whole matrices, and tensor ranks divide them"},
       {eight + "--optimizer muon --sharding optimizer", "--sharding none or full"},
       {eight + "--optimizer galore,8 --sharding full", "--sharding none"},
       {eight + "--optimizer galore,8,layerwise", "one micro-batch"},
       {eight + "--optimizer lion --offload-optimizer", "on a host only Adam's state"},
       {eight + "--optimizer adafactor --lora 8", "beside such adapters"},
       {eight + "--optimizer muon --train-only norms", "no matrices"},
       {"predict --model mixtral-8x7b --cluster 8xH200 --sequence 2048 --batch 64 --optimizer apollo,8",
        "experts are not matrices one by one"},
       {"predict --model deepseek-v3 --cluster 8xH200 --sequence 2048 --batch 64 --optimizer muon",
        "further tokens"}});
}

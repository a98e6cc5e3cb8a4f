// `ashlar predict` from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

namespace {

std::string const some_run = " --cluster 2x8xH100 --sequence 4096 --batch 64";

nlohmann::json counted(std::string const& config) {
  return predicted_run("--model " + scratch_file("config.json", config) + some_run);
}

// A file of a cluster NODESxDEVICESxKIND. If the devices lack the format, the file says that they have
// it, at the rate of the nearest wider one.
std::string cluster_with(std::string const& cluster, std::string const& format) {
  std::size_t const x = cluster.find('x'), y = cluster.find('x', x + 1);
  std::string file = cluster.substr(y + 1);
  for (char& c : file) c = c == '-' ? '_' : static_cast<char>(std::tolower(c));
  auto sheet = nlohmann::json::parse(
      content(std::string(ASHLAR_TEST_DATA) + "/../../tools/ashlar/predict/machines/" + file + ".json"));
  sheet["nodes"] = std::stoi(cluster);
  sheet["devices_per_node"] = std::stoi(cluster.substr(x + 1));
  nlohmann::json& peaks = sheet["peak_flops"];
  auto const wide = [&](char const* narrow) { return peaks.value(narrow, peaks["fp16"]); };
  if (format == "bf16" && !peaks.contains("bf16")) peaks["bf16"] = wide("bf16");
  bool const scales = sheet["generation"].get<std::string>().starts_with("blackwell");
  if ((format == "mxfp8" && !scales) || format == "fp8") peaks["fp8"] = wide("fp8");
  if ((format == "mxfp8" && !scales) || format == "nvfp4")
    peaks["fp4"] = peaks.value("fp4", wide("fp8"));
  return scratch_file("cluster.json", sheet.dump());
}

bool is_near(nlohmann::json const& a, nlohmann::json const& b) {
  return std::fabs(a.get<double>() - b.get<double>()) <= 1e-9 * std::fabs(b.get<double>());
}

bool is_blackwell(nlohmann::json const& run) {
  std::string const cluster = run["cluster"];
  return contains(cluster, "B200") || contains(cluster, "B300");
}

// The step of a run if its casts moved as many bytes as there, 8 an element and 10 to NVFP4, and if it
// moved no other bytes: the longest that it may take there. 0 for formats without casts.
double longest_with_their_casts(nlohmann::json const& run, std::string const& format) {
  double const theirs = format == "nvfp4" ? 10 : 8, ours = format == "nvfp4"   ? 5.125
                                                           : format == "mxfp8" ? 4.0625
                                                                               : 6;
  if (format != "fp8" && format != "mxfp8" && format != "nvfp4") return 0;
  double passes = 0;
  for (auto const& [term, seconds] : run["terms"].items())
    if (term != "bubble" && term != "stragglers" && term != "data" && term != "optimizer"
        && term != "update")
      passes += seconds.get<double>();
  double const step = run["step_seconds"], bytes = run["terms"]["bytes"];
  return step * (1 + (theirs / ours - 1) * bytes / passes);
}

// The peak of a run, of all devices or the last, if logits took `logits` times the bytes.
double peak_with(nlohmann::json const& run, double logits, bool last) {
  double most = 0;
  for (auto const& device : run["memory"]) {
    double all = 0;
    for (auto const& [what, bytes] : device.items())
      if (what != "host") all += bytes.get<double>() * (what == "logits" ? logits : 1);
    most = last ? all : std::max(most, all);
  }
  return most;
}

}  // namespace

TEST_CASE("predict: figures of another program of the same formulas") {
  std::string const folder = std::string(ASHLAR_TEST_DATA) + "/predict/";
  auto const constants = nlohmann::json::parse(content(folder + "constants.json"));
  // Its constants for a run, some of which stand for others, too. Blackwell's clocks have no limit
  // there.
  auto const constants_for = [&](nlohmann::json const& run) {
    auto all = constants;
    auto const replace = [&](char const* constant, char const* as) {
      all["constants"][constant]["value"] = all["constants"][as]["value"];
    };
    if (run.contains("hides_exchanges")) replace("tensor_exposed", "tensor_exposed.tuned");
    if (run.contains("fewer_rotations")) replace("attention.hopper.flash", "attention.hopper.triton");
    if (is_blackwell(run)) all["constants"]["power"]["value"] = 1e-12;
    return scratch_file("constants.json", all.dump());
  };
  // One program there does what Megatron-Bridge's does.
  std::string const as_there = " --stack megatron-bridge --fact graphs=none,expert-dispatch=all-to-all";
  auto const all = nlohmann::json::parse(content(folder + "reference.json"));
  for (nlohmann::json const& each : all) {
    std::string line = "--constants " + constants_for(each) + " --model "
                       + scratch_file("model.json", each["model"].dump()) + " --cluster "
                       + cluster_with(each["cluster"], each["options"]["precision"]);
    for (auto const& [option, value] : each["options"].items())
      line += " --" + option + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    nlohmann::json found = predicted_run(line);
    std::string const program = found["program"];
    if (program == "megatron-core" || program == "megatron-bridge")
      found = predicted_run(line + as_there);
    else if (is_blackwell(each))  // all programs overlap exchanges of tensor ranks on it there
      found = predicted_run(line + " --fact tensor-overlap=on");
    double const step = found["step_seconds"], other = each["step_seconds"];
    std::string const format = each["options"]["precision"];
    double const longest = longest_with_their_casts(found, format);
    if (each.contains("uneven")) {
      CHECK(std::max(step, longest) > 0.99 * other);
      CHECK(step < 1.25 * other);
    } else if (each.contains("fewer_rotations")) {
      CHECK((step > other && step < 1.03 * other));  // sums overlap there, too
    } else if (longest > 0) {
      CHECK((step <= 1.000000001 * other && longest >= other));  // casts move fewer bytes than there
    } else {
      CHECK(is_near(step, other));
    }
    // There, fully sharded programs hold 6.5 bytes of a logit if layers run again, not 4.
    bool const holds_more = program == "fsdp" && each["options"].value("recompute", "none") != "none";
    double const logits = holds_more ? 6.5 / 4 : 1;
    CHECK(is_near(peak_with(found, logits, false), each["peak_bytes"]));
    CHECK(is_near(peak_with(found, logits, true), each["peak_bytes_last"]));
    CHECK(found["fits"] == each["fits"]);
    CHECK(each["kind"].get<std::string>().starts_with(found["kind_of_run"].get<std::string>() + ", "));
  }
}

TEST_CASE("predict: terms add up to the step, parts to the peak") {
  auto const found = predicted_run(
      "--model llama3-8b --tensor 2 --pipeline 2 --chunks 4 --sharding optimizer" + some_run);
  double sum = 0, most = 0;
  for (auto const& [name, seconds] : found["terms"].items()) sum += seconds.get<double>();
  CHECK(sum == doctest::Approx(found["step_seconds"].get<double>()));
  for (nlohmann::json const& device : found["memory"]) {
    double all = 0;
    for (auto const& [name, bytes] : device.items()) all += bytes.get<double>();
    most = std::fmax(most, all);
  }
  CHECK(most == doctest::Approx(found["peak_bytes"].get<double>()));
  CHECK(found["parameters"] == 8030261248.0);
  CHECK(found["interval"]["low"] <= found["step_seconds"]);
  CHECK(found["interval"]["high"] >= found["step_seconds"]);
}

TEST_CASE("predict: keys of a model are read, null and 0 are absent") {
  std::string const plain =
      R"("num_hidden_layers":1,"hidden_size":1024,"intermediate_size":1024,"num_attention_heads":8,"vocab_size":1024)";
  double const matrices = 4 * 1024 * 1024 + 3 * 1024 * 1024 + 2 * 1024 * 1024;
  CHECK(counted("{" + plain + "}")["parameters"] == matrices);
  CHECK(counted("{" + plain + R"(,"num_key_value_heads":null,"num_experts":0,"kv_lora_rank":null,)"
                + R"("tie_word_embeddings":null,"shared_expert_intermediate_size":0})")["parameters"]
        == matrices);
  CHECK(counted("{" + plain + R"(,"head_dim":256})")["parameters"] == matrices + 4 * 1024 * 1024);
  CHECK(counted("{" + plain
                + R"(,"num_experts":4,"num_experts_per_tok":2,"mlp_only_layers":[0]})")["parameters"]
        == matrices);
  // A decoder inside a larger model, without the rest.
  auto const inside = counted(R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text",)"
                              R"("hidden_size":5376,"intermediate_size":21504,"num_attention_heads":32,)"
                              R"("num_hidden_layers":62,"num_key_value_heads":16,"head_dim":128,)"
                              R"("sliding_window":1024},"vision_config":{"hidden_size":1152}})");
  CHECK(inside["parameters"] == 27009002240.0 + 344064);
}

TEST_CASE("predict: a window makes long sequences faster") {
  std::string const keys =
      R"({"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,)"
      R"("num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":32000,"sliding_window":)";
  std::string const run = " --cluster 8xH100 --sequence 32768 --batch 8 --sharding full";
  auto const seconds = [&](std::string const& window) {
    return predicted_run("--model " + scratch_file("m.json", keys + window + "}") + run)["step_seconds"]
        .get<double>();
  };
  CHECK(seconds("4096") < 0.8 * seconds("null"));
  CHECK(seconds("131072") == seconds("null"));
}

TEST_CASE("predict: names are found regardless of case, and a cluster may be a file") {
  auto const named = predicted_run("--model llama3-8b" + some_run);
  CHECK(predicted_run(
            "--model Llama3-8B --cluster 2x8xh100-sxm --sequence 4096 --batch 64")["step_seconds"]
        == named["step_seconds"]);
  CHECK(predicted_run("--model 8B" + some_run)["parameters"] == named["parameters"]);
  auto const mine = scratch_file(
      "mine.json",
      R"({"nodes":2,"generation":"hopper","devices_per_node":8,"domain":8,"peak_flops":{"fp32":67e12,"bf16":989e12},)"
      R"("memory_bytes":80e9,"memory_bandwidth":3.35e12,"link_inside":450e9,"link_outside":50e9,"units":132,)"
      R"("exponentials":3.9e12,"power_watts":700})");
  CHECK(predicted_run("--model 8B --sequence 4096 --batch 64 --cluster " + mine)["step_seconds"]
        == doctest::Approx(named["step_seconds"].get<double>()).epsilon(0.01));
}

TEST_CASE("predict: text says what people ask") {
  tool_result const r = run_tool("predict --model llama3-8b --sharding full" + some_run);
  CHECK(r.code == 0);
  for (char const* each : {"8.030 billion parameters", "nine of ten runs of sources never seen",
                           "tokens/s", "TFLOP/s a device", "It fits", "where the time goes", "products",
                           "activations", "What to change first"})
    CHECK(contains(r.out, each));
  CHECK(contains(run_tool("predict --model llama3-8b --explain" + some_run).out, "= 2 k (m n"));
  CHECK(contains(run_tool("predict --model llama3-70b" + some_run).out, "It does not fit"));
}

TEST_CASE("predict: numbers that Python writes and JSON has not are read, and a type is not guessed") {
  std::string const written =
      R"({"model_type":"mamba2","time_step_limit":[0.0,Infinity],"note":"Infinity NaN",)"
      R"("rope_theta":NaN,"layer_norm_epsilon":-Infinity})";
  CHECK(counted(written)["parameters"] == counted(R"({"model_type":"mamba2"})")["parameters"]);
  tool_result const other =
      run_tool("predict --model " + scratch_file("other.json", R"({"model_type":"bert"})") + some_run);
  CHECK(other.code == 2);
  CHECK(contains(other.err, "model_type 'bert' is not known"));
  CHECK(!contains(other.err, "general"));
}

TEST_CASE("predict: keys that transformers ignores for a type are listed, and change nothing") {
  std::string const more =
      R"({"model_type":"qwen3_moe","use_qk_norm":true,"length_penalty":1.0,"own":[1]})";
  std::string const file = scratch_file("more.json", more);
  CHECK(counted(more)["parameters"] == counted(R"({"model_type":"qwen3_moe"})")["parameters"]);
  CHECK(contains(run_tool("predict --model " + file + some_run).out,
                 "not read: length_penalty, own, use_qk_norm"));
  CHECK(counted(R"({"model_type":"starcoder2","mlp_type":"default"})")["parameters"]
        == counted(R"({"model_type":"starcoder2"})")["parameters"]);
  // Lists of equal numbers, and windows in letters.
  std::string const experts = R"({"model_type":"hunyuan_v1_moe","num_experts":8,"moe_topk":)";
  CHECK(counted(experts + "[2,2]}")["parameters"] == counted(experts + "2}")["parameters"]);
  std::string const exaone = R"({"model_type":"exaone4","sliding_window":512,"sliding_window_pattern":)";
  CHECK(counted(exaone + R"("LLLG"})") == counted(exaone + "4}"));
  CHECK(counted(exaone + R"("LG"})") != counted(exaone + "4}"));
}

TEST_CASE("predict: a module's file counts as its architecture, or is refused with its reason") {
  std::string const decoder =
      R"({"hidden":64,"vocabulary":100,"embedding":0,"is_tied":false,"beside":64,"layers":[0,0],"kinds":[)"
      R"({"mix":{"kind":"attention","heads":4,"groups":2,"head":16,"window":32,"beside":64},)"
      R"("feed":{"kind":"dense","is_gated":true,"width":128,"beside":64}}]})";
  auto const file = [&](std::string const& rest) {
    return R"({"ashlar_model":1,"parameters":{"all":86848},)" + rest + "}";
  };
  nlohmann::json const keys = counted(
      R"({"model_type":"mistral","hidden_size":64,"vocab_size":100,"num_hidden_layers":2,"sliding_window":32,)"
      R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"intermediate_size":128})");
  nlohmann::json const module = counted(file(R"("architecture":)" + decoder));
  for (char const* each : {"parameters", "active_parameters", "step_seconds", "peak_bytes"})
    CHECK(module[each] == keys[each]);
  std::string const seeing = scratch_file(
      "seeing.json",
      R"({"ashlar_model":1,"parameters":{"all":86900},"left_out":{"visual":52},"architecture":)"
          + decoder + "}");
  CHECK(contains(run_tool("predict --model " + seeing + some_run).out,
                 "without visual: the decoder alone"));
  auto const model = [&](char const* name, std::string const& text) {
    return "predict" + some_run + " --model " + scratch_file(name, text);
  };
  all_refused({
      {model("module1.json", file(R"("no_architecture":"its attention is not causal")")),
       "its attention is not causal"},
      {model("module2.json", R"({"ashlar_model":2})"), "is of another version than 1"},
      {model("module3.json",
             R"({"ashlar_model":1,"parameters":{"all":9},"architecture":)" + decoder + "}"),
       "but those of its architecture are 86848"},
      {model("module4.json", file(R"("architecture":{"hidden":64})")), "vocabulary"},
      {model("module5.json",
             file(R"("architecture":{"hidden":64,"vocabulary":9,"embedding":0,"beside":0,)"
                  R"("is_tied":true,"kinds":[{"mix":{"kind":"other"}}],"layers":[0]})")),
       "no kind 'other' is known; there are: none attention"},
      {model("module6.json",
             file(R"("architecture":{"hidden":64,"vocabulary":9,"embedding":0,"beside":0,)"
                  R"("is_tied":true,"kinds":[],"layers":[0]})")),
       "layers"},
  });
}

TEST_CASE("predict: what is wrong is named, with what is allowed") {
  std::string const go = "predict" + some_run;
  int files = 0;
  auto const model = [&](std::string const& config) {
    std::string const name = "wrong" + std::to_string(++files) + ".json";
    return "predict" + some_run + " --model " + scratch_file(name, config);
  };
  std::string const llama = R"("model_type":"llama","hidden_size":64,"num_attention_heads":4)";
  all_refused({
      {go + " --model 8B --explain --as json", "--explain has no effect"},
      {go + " --model 8B --calibrate x.csv", "--model has no effect with --calibrate"},
      {go + " --model lama3-8b", "did you mean 'llama3-8b'?"},
      {go + " --model no.json", "cannot read 'no.json'"},
      {"predict --model 8B --sequence 1 --batch 1 --cluster 8xH10", "did you mean"},
      {"predict --model 8B --sequence 1 --batch 1 --cluster H100", "NODESxDEVICESxKIND"},
      {"predict --model 8B --sequence 1 --batch 1 --cluster 0x8xH100", "nodes must be from 1"},
      {go + " --model 8B --batch nan", "--batch"},
      {go + " --model 8B --tensor -2", "--tensor must be from 1"},
      {go + " --model 8B --tensor 99999999999999999999", "--tensor must be from 1"},
      {go + " --model 8B --tensor 3", "must divide the 16 devices"},
      {go + " --model 8B --data 8", "is 8 ranks, and --cluster has 16 devices"},
      {go + " --model 8B --micro-batch 3", "--batch 64 must be a multiple of --micro-batch 3"},
      {go + " --model 8B --chunks 2", "needs --pipeline of at least 2"},
      {go + " --model 8B --expert 2", "the model has no experts"},
      {go + " --model 8B --pipeline 2 --layout 16,15", "has 31 layers, and the model has 32"},
      {go + " --model 8B --pipeline 2 --layout 'Et*16|t*16L|'", "has 3 stages"},
      {go + " --model 8B --pipeline 2 --layout 'Et*16|x'", "not understood at character 7"},
      {model("{" + llama + R"(,"moe_latent_size":5})"), "is of another kind of model than 'llama'"},
      {model("{" + llama + R"(,"n_routed_experts":8})"), "is of another kind of model than 'llama'"},
      {model("{" + llama + R"(,"is_encoder_decoder":true})"), "is of another kind of model"},
      {model(
           R"({"model_type":"gpt2","scale_attn_by_inverse_layer_idx":true,"add_cross_attention":true})"),
       "has cross attention"},
      {model(R"({"model_type":"hunyuan_v1_moe","num_experts":8,"moe_topk":[2,1]})"),
       "\"moe_topk\" must be a whole number"},
      {model("{" + llama + R"(,"atention_bias":true})"), "did you mean 'attention_bias'?"},
      {model(R"({"model_type":"lama"})"), "did you mean 'llama'?"},
      {model("{" + llama + R"(,"num_hidden_layers":-1})"),
       "\"num_hidden_layers\" must be a whole number"},
      {model("{" + llama + R"(,"num_hidden_layers":1e400})"), ".json'"},
      {model("{" + llama + R"(,"vocab_size":"many"})"), "\"vocab_size\" must be a whole number"},
      {model(R"({"hidden_size":64})"), "lacks \"vocab_size\""},
      {model("[]"), "is not a JSON object"},
      {model(R"({"model_type":"mixtral","num_local_experts":2,"num_experts_per_tok":3})"),
       "chooses 3 of 2 experts"},
      {model(R"({"model_type":7})"), "\"model_type\" must be"},
      {model(R"({"model_type":["llama"]})"), "\"model_type\" must be"},
      {model(R"({"text_config":{"model_type":"llama"},"model_type":7})"), "\"model_type\" must be"},
      {model(R"({"text_config":{"model_type":7},"model_type":"gemma3"})"), "\"model_type\" must be"},
      {model("{" + llama + R"(,"num_key_value_heads":8})"), "no multiple of its 8 key heads"},
      {model("{" + llama + R"(,"num_key_value_heads":3})"), "no multiple of its 3 key heads"},
      {model(R"({"hidden_size":64,"vocab_size":9,"num_hidden_layers":1,"num_attention_heads":4,)"
             R"("intermediate_size":64,"num_key_value_heads":8})"),
       "no multiple of its 8 key heads"},
      {model("{" + llama + R"(,"num_key_value_heads":NaN})"), "\"num_key_value_heads\" must be"},
      {model("{" + llama + R"(,"vocab_size":-Infinity})"), "\"vocab_size\" must be"},
  });
}

TEST_CASE(
    "predict: arguments of Megatron-LM, as a shell line or a YAML, and what is given beside them") {
  std::string const shell = scratch_file("run.sh", R"(#!/bin/bash
# A job
ARGS="--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --bf16"  # the model
MORE=(
  --num-attention-heads 64 --group-query-attention --num-query-groups 8 \
  --seq-length 8192 --swiglu --untie-embeddings-and-output-weights --vocab-size '128256'
)
torchrun pretrain_gpt.py ${ARGS} ${MORE[@]} --micro-batch-size 1 --global-batch-size=256 --log-interval 1 \
  --tensor-model-parallel-size 4 --pipeline-model-parallel-size=4 --use-distributed-optimizer
)");
  std::string const sizes =
      " --sequence 8192 --batch 256 --pipeline 4 --sharding optimizer --sequence-parallel off "
      "--stack megatron-core";
  std::string const keys =
      R"({"num_hidden_layers":80,"hidden_size":8192,"intermediate_size":28672,"num_attention_heads":64,)"
      R"("num_key_value_heads":8,"vocab_size":128256,"hidden_act":"silu"})";
  std::string const same = "--cluster 8x8xH100 --model " + scratch_file("same.json", keys) + sizes;
  CHECK(predicted_run("--cluster 8x8xH100 --megatron " + shell)["step_seconds"]
        == predicted_run(same + " --tensor 4")["step_seconds"]);
  CHECK(
      predicted_run("--cluster 8x8xH100 --tensor 8 --precision fp8 --megatron " + shell)["step_seconds"]
      == predicted_run(same + " --tensor 8 --precision fp8")["step_seconds"]);
  CHECK(contains(run_tool("predict --cluster 8x8xH100 --megatron " + shell).out,
                 "not read: --log-interval"));
  // The vocabulary of a tokenizer is given beside the script, in place of what it says and leaves open.
  for (std::string const said : {"", "--vocab-size 999", "--vocab-size $VOCABULARY_OF_NOBODY"}) {
    std::string text = content(shell);
    text.replace(text.find("--vocab-size '128256'"), 21, said);
    std::string const other = "--cluster 8x8xH100 --megatron " + scratch_file("other.sh", text);
    CAPTURE(said);
    if (said.empty()) CHECK(contains(run_tool("predict " + other).err, "lacks --vocab-size"));
    CHECK(predicted_run(other + " --vocab-size 128256")["step_seconds"]
          == predicted_run(same + " --tensor 4")["step_seconds"]);
  }
  CHECK(predicted_run(same + " --tensor 4 --vocab-size 999")["parameters"].get<double>()
        == predicted_run(same + " --tensor 4")["parameters"].get<double>() - 2.0 * 127257 * 8192);
  // The words are as in scripts: with variables, some of them from outside, and GPT-2's tokenizer by its
  // files.
  std::string const variables = scratch_file("variables.sh", R"(#!/bin/bash
export LAYERS=80 HEADS="64"
TP=${TP:-4}
FREE=${1:-x}; WORLD=$(($GPUS * $NODES)); ROOT=${HOME}/data
MODEL=(--num-layers $LAYERS --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads ${HEADS} --swiglu)
torchrun --nnodes $NODES pretrain_gpt.py "${MODEL[@]}" --group-query-attention --num-query-groups 8 --seq-length 8192 \
  --micro-batch-size 1 --global-batch-size 256 --tensor-model-parallel-size ${TP} --use-distributed-optimizer --bf16 \
  --pipeline-model-parallel-size $((2 * 2)) --pipeline-model-parallel-size 4 --untie-embeddings-and-output-weights \
  --vocab-file $ROOT/vocab.json --merge-file ${ROOT}/merges.txt
)");
  std::string gpt2 = keys;
  gpt2.replace(gpt2.find("128256"), 6, "50257");
  CHECK(predicted_run("--cluster 8x8xH100 --megatron " + variables)["step_seconds"]
        == predicted_run("--cluster 8x8xH100 --model " + scratch_file("gpt2.json", gpt2) + sizes
                         + " --tensor 4")["step_seconds"]);

  std::string const yaml = scratch_file("run.yaml", R"(MODEL_ARGS:
  --num-layers: 12
  --hidden-size: 512
  --num-attention-heads: 8
  --seq-length: 1024
  --global-batch-size: 32
  --vocab-size: 50304
  --num-experts: 8
  --moe-layer-freq: ([0]*2+[1]*10)
  --use-distributed-optimizer: true
  --fp16: true
)");
  double const attention = 4 * 512 * 512, dense = 2 * 512 * 2048;
  CHECK(predicted_run("--cluster 8xH100 --megatron " + yaml)["parameters"]
        == 12 * attention + 2 * dense + 10 * (8 * dense + 8 * 512) + 50304 * 512);
  auto const with_frequency = [&](std::string const& list) {
    std::string text = content(yaml);
    text.replace(text.find("([0]*2+[1]*10)"), 14, list);
    return "--cluster 8xH100 --megatron " + scratch_file("frequency.yaml", text);
  };
  // Dense layers anywhere, and a list that repeats.
  CHECK(predicted_run(with_frequency("([1]*4+[0]*3+[1]*5)"))["parameters"]
        == 12 * attention + 3 * dense + 9 * (8 * dense + 8 * 512) + 50304 * 512);
  CHECK(predicted_run(with_frequency("[0,1,1]*4"))["parameters"]
        == 12 * attention + 4 * dense + 8 * (8 * dense + 8 * 512) + 50304 * 512);
  CHECK(predicted_run(with_frequency("5"))["parameters"]  // layers 0, 5 and 10
        == 12 * attention + 9 * dense + 3 * (8 * dense + 8 * 512) + 50304 * 512);
  for (char const* wrong : {"([0]*3+[1]*58)", "[0]*2", "[2]*12", "0.5", "[0]*12*1", "[1]*99999999999"}) {
    tool_result const r = run_tool("predict " + with_frequency(wrong));
    CHECK(r.code == 2);
    CHECK(contains(r.err, "--moe-layer-freq"));
  }
}

TEST_CASE("predict: what is not read, or taken for something else, is said") {
  std::string const sizes = "--cluster 8xH100 --model 8B --sequence 4096 --batch 8 --pipeline 4 ";
  CHECK(predicted_run(sizes)["notes"].empty());
  CHECK(predicted_run(sizes + "--schedule 1f1b")["notes"].empty());
  CHECK(predicted_run(sizes + "--chunks 2 --schedule interleaved")["notes"].empty());
  std::string const job = scratch_file("notes.toml", R"([training]
seq_len = 4096
dataset = "c4"
[metrics]
log_freq = 10
)");
  CHECK(predicted_run("--cluster 8xH100 --model 8B --torchtitan " + job)["notes"][0]
        == "not read: training.dataset");
  std::string const ds =
      scratch_file("notes.json", R"({"train_batch_size": 8, "gradient_clipping": 1.0})");
  CHECK(predicted_run("--cluster 8xH100 --model 8B --sequence 4096 --deepspeed " + ds)["notes"][0]
        == "not read: gradient_clipping");
}

TEST_CASE("predict: a job of torchtitan, a configuration of DeepSpeed") {
  std::string const job = scratch_file("job.toml", R"([model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 2  # of a rank
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
)");
  CHECK(predicted_run("--cluster 8xH100 --torchtitan " + job)["step_seconds"]
        == predicted_run("--model llama3-8b --cluster 8xH100 --sequence 8192 --batch 16 --micro-batch 2 "
                         "--sharding full --recompute op")["step_seconds"]);
  std::string const ds = scratch_file(
      "ds.json", R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,)"
                 R"("zero_optimization": {"stage": 3}, "bf16": {"enabled": true}})");
  CHECK(predicted_run("--cluster 8xH100 --model 8B --sequence 4096 --deepspeed " + ds)["step_seconds"]
        == predicted_run(
            "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --micro-batch 2 --sharding "
            "full")["step_seconds"]);
  std::string const away = scratch_file(
      "away.json", R"({"zero_optimization":{"stage":3,"offload_optimizer":{"device":"nvme"}}})");
  all_refused({
      {"predict --cluster 8xH100 --deepspeed " + ds, "--model is required: the file does not say it"},
      {"predict --cluster 8xH100 --model 8B --sequence 1 --batch 8 --deepspeed " + away,
       "offload_optimizer"},
      {"predict --cluster 8xH100 --megatron " + job, "has no arguments of Megatron-LM"},
      {"predict --cluster 8xH100 --torchtitan " + ds, "it is no job of torchtitan"},
      {"predict --cluster 8xH100 --torchtitan " + job + " --deepspeed " + ds, "do not go together"},
      {"predict --cluster 8xH100 --megatron "
           + scratch_file("few.sh", "--num-layers 4 --hidden-size 64"),
       "lacks --num-attention-heads"},
      {"predict --cluster 8xH100 --megatron "
           + scratch_file("open.sh", "--num-layers $LAYERS --hidden-size ${HIDDEN}"),
       "${HIDDEN}"},
      // An empty word has a quote right behind it.
      {"predict --cluster 8xH100 --megatron " + scratch_file("quoted.sh", "--num-layers \"\"\"4\""),
       "lacks --hidden-size"},
  });
}

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

TEST_CASE("predict: the passes of a step as a picture, a page and a trace") {
  std::string const run =
      "predict --model 8B --cluster 2x8xH100 --sequence 4096 --batch 32 --pipeline 4 --chunks 2 "
      "--tensor 2 --as ";
  CHECK(contains(run_tool(run + "svg").out, "<svg"));
  std::string const page = run_tool(run + "html").out;
  CHECK(contains(page, "<svg"));
  CHECK(contains(page, "nine of ten runs of sources"));
  auto const trace = nlohmann::json::parse(run_tool(run + "trace").out);
  double last = 0, step = predicted_run(
                       "--model 8B --cluster 2x8xH100 --sequence 4096 --batch 32 --pipeline 4 "
                       "--chunks 2 --tensor 2")["step_seconds"];
  for (nlohmann::json const& event : trace["traceEvents"])
    if (event.value("ph", "") == "X")
      last = std::fmax(last, event["ts"].get<double>() + event["dur"].get<double>());
  CHECK(last * 1e-6 < step);  // without what a step has once
  CHECK(last * 1e-6 > 0.8 * step);
}

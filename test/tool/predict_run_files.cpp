// `ashlar predict` of a run that is described in a framework's file.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>

#include <string>

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
  // Megatron-LM's norms and biases are counted; keys without a type have none.
  auto const seconds = [](std::string const& words) {
    return predicted_run(words)["step_seconds"].get<double>();
  };
  auto const with_norms = [&](std::string const& words) {
    return doctest::Approx(seconds(words)).epsilon(1e-5);
  };
  CHECK(seconds("--cluster 8x8xH100 --megatron " + shell) == with_norms(same + " --tensor 4"));
  CHECK(seconds("--cluster 8x8xH100 --tensor 8 --precision fp8 --megatron " + shell)
        == with_norms(same + " --tensor 8 --precision fp8"));
  CHECK(contains(run_tool("predict --cluster 8x8xH100 --megatron " + shell).out,
                 "not read: --log-interval"));
  // The vocabulary of a tokenizer is given beside the script, in place of what it says and leaves open.
  for (std::string const said : {"", "--vocab-size 999", "--vocab-size $VOCABULARY_OF_NOBODY"}) {
    std::string text = content(shell);
    text.replace(text.find("--vocab-size '128256'"), 21, said);
    std::string const other = "--cluster 8x8xH100 --megatron " + scratch_file("other.sh", text);
    CAPTURE(said);
    if (said.empty()) CHECK(contains(run_tool("predict " + other).err, "lacks --vocab-size"));
    CHECK(seconds(other + " --vocab-size 128256") == with_norms(same + " --tensor 4"));
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
  CHECK(seconds("--cluster 8x8xH100 --megatron " + variables)
        == with_norms("--cluster 8x8xH100 --model " + scratch_file("gpt2.json", gpt2) + sizes
                      + " --tensor 4"));

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

TEST_CASE("predict --run: a run comes to the parameters that its program's own module has") {
  auto const counted = [](char const* name, long long all, long long trained, char const* program) {
    std::string const start = R"({"format": "ashlar-run", "version": 1, "model": "llama2-7b", )"
                              R"("cluster": "8xH100", "batch": {"sequence": 512, "micro_batches": 2}, )";
    return scratch_file(name, start + R"("program": {)" + program + R"(}, "counted": {"parameters": )"
                                  + std::to_string(all) + R"(, "trained": )" + std::to_string(trained)
                                  + "}}");
  };
  constexpr long long all = 6'738'415'616;
  std::string const same = run_tool("predict --run " + counted("same.json", all, all, "")).out;
  CHECK(same.find("6.738 billion parameters") != std::string::npos);
  CHECK(same.find("counted here") == std::string::npos);
  std::string const norms = run_tool("predict --run " + counted("norms.json", all, all - 4096, "")).out;
  CHECK(norms.find("has 6738411520 parameters that train, and 6738415616 are counted here")
        != std::string::npos);
  // Adapters of rank 8 beside q_proj and v_proj: 32 layers x 2 x 8 x (4096 + 4096).
  constexpr long long adapters = 32LL * 2 * 8 * 8192;
  char const* const lora = R"("lora": "8,q_proj,v_proj")";
  std::string const alone = counted("alone.json", all, adapters, lora);
  std::string const text = run_tool("predict --run " + alone).out;
  CHECK(text.find("of adapters of rank 8") != std::string::npos);
  CHECK(text.find("counted here") == std::string::npos);
  all_refused(
      {{"predict --run " + counted("whole.json", all, all, lora),
        "the program's module has 6738415616 parameters that train, and 4194304 are counted here"},
       {"predict --run " + counted("other.json", all + all / 100, adapters, lora),
        "the program's module has 6805799772 parameters, and 6738415616 are counted here"},
       {"plan --batch 16 --run " + counted("plan.json", all, all, lora),
        "the program's module has 6738415616 parameters that train, and 4194304 are counted here"},
       {"predict --run " + counted("none.json", -1, adapters, lora), "parameters"}});
  // Options on the command line make another training.
  CHECK(run_tool("predict --lora 16 --run " + alone).code == 0);
}

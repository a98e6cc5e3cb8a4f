// `ashlar predict --torchtitan` and `--deepspeed`: sharing, schedules, and refusals.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

std::string numbered(char const* ending, std::string const& text) {
  static int count = 0;
  return scratch_file("job" + std::to_string(++count) + ending, text);
}

std::string titan_job(std::string const& parallelism, std::string const& more = "") {
  return "--torchtitan "
         + numbered(".toml",
                    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\n"
                    "local_batch_size = 8\n"
                        + more + "\n[parallelism]\n" + parallelism + "\n");
}

std::string zero_job(std::string const& keys) {
  return "--model 8B --sequence 4096 --deepspeed " + numbered(".json", "{" + keys + "}");
}

std::string options_on(std::string const& cluster, std::string const& run) {
  CAPTURE(run);
  return predicted_run("--cluster " + cluster + " " + run)["options"].get<std::string>();
}

}  // namespace

TEST_CASE("predict: HSDP has shards over some ranks and copies over the others") {
  std::string const on = "--cluster 8x8xH200 ",
                    run = on + "--model 8B --sequence 4096 --batch 64 --sharding full --recompute op ";
  auto const all = predicted_run(run), inner = predicted_run(run + "--shard-ranks 8");
  auto const sum = [](nlohmann::json const& p) {
    auto const& m = p["memory"][0];
    return m["parameters"].get<double>() + m["gradients"].get<double>() + m["optimizer"].get<double>();
  };
  CHECK(sum(inner) == doctest::Approx(8 * sum(all)));
  CHECK(relative_width(inner) > relative_width(all));  // no run had copies beside shards
  CHECK(predicted_run(run + "--shard-ranks 64")["step_seconds"] == all["step_seconds"]);
  // A file says the same.
  std::string const shards = "data_parallel_replicate_degree = 8\ndata_parallel_shard_degree = ";
  for (char const* const degree : {"8", "-1"}) {
    auto const read = predicted_run(on + "--batch 64 --micro-batch 1 " + titan_job(shards + degree));
    CHECK(read["step_seconds"] == inner["step_seconds"]);
    CHECK(read["peak_bytes"] == inner["peak_bytes"]);
  }
  CHECK(
      contains(options_on("8x8xH200",
                          titan_job("data_parallel_replicate_degree = 4\ncontext_parallel_degree = 2")),
               "--context 2 --data 32 --sharding full --shard-ranks 16"));
  CHECK(
      !contains(options_on("8x8xH200", titan_job("data_parallel_replicate_degree = 64")), "--sharding"));
  CHECK(contains(
      options_on("8x8xH200",
                 titan_job("data_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 32\n"
                           "context_parallel_degree = 2")),
      "--sharding full --shard-ranks 2"));
  std::string const zero =
      R"("train_batch_size":512,"train_micro_batch_size_per_gpu":1,"bf16":{"enabled":true},)"
      R"("zero_optimization":{"stage":3,)";
  CHECK(contains(options_on("8x8xH200", zero_job(zero + R"("mics_shard_size":8})")),
                 "--sharding full --shard-ranks 8 --sum-copies-once"));
  // hpZ: all weights a second time, in 16 bits over 8 ranks.
  auto const again = predicted_run(on + zero_job(zero + R"("zero_hpz_partition_size":8})")),
             once = predicted_run(on + zero_job(zero + R"("zero_hpz_partition_size":1})"));
  CHECK(again["memory"][0]["parameters"].get<double>() - once["memory"][0]["parameters"].get<double>()
        == doctest::Approx(2 * once["parameters"].get<double>() / 8).epsilon(0.01));
  CHECK(again["step_seconds"] < once["step_seconds"]);
  // Copies that are summed once a step take less over slow links than shards over all.
  auto const mics = predicted_run(on + zero_job(zero + R"("mics_shard_size":8})")),
             each = predicted_run(
                 on + "--model 8B --sequence 4096 --batch 512 --sharding full --shard-ranks 8");
  CHECK(mics["step_seconds"] < once["step_seconds"]);
  CHECK(mics["terms"]["data"].get<double>() > 0);
  CHECK(mics["step_seconds"] < each["step_seconds"]);
  // Instances may share the optimizer alone, too.
  auto const optimizer =
                 predicted_run(on + "--model 8B --sequence 4096 --batch 64 --sharding optimizer"),
             instances = predicted_run(
                 on + "--model 8B --sequence 4096 --batch 64 --sharding optimizer --shard-ranks 16");
  CHECK(instances["memory"][0]["optimizer"].get<double>()
        == doctest::Approx(4 * optimizer["memory"][0]["optimizer"].get<double>()));
  CHECK(instances["memory"][0]["parameters"] == optimizer["memory"][0]["parameters"]);
  std::string const go = "predict --cluster 8x8xH200 --model 8B --sequence 4096 --batch 64 ";
  all_refused(
      {{go + "--sharding full --shard-ranks 7",
        "--shard-ranks 7 must divide the 64 data and context ranks"},
       {go + "--shard-ranks 8", "--shard-ranks 8 needs --sharding"},
       {go + "--sharding optimizer --weight-ranks 8", "--weight-ranks 8 needs --sharding full"},
       {go + "--sharding full --weight-ranks 7", "--weight-ranks 7 must divide the 64 ranks"},
       {"predict " + on + titan_job(shards + "4"), "torchtitan stops: data_parallel_replicate_degree 8"},
       {"predict " + on
            + zero_job(R"("train_batch_size":64,"zero_optimization":{"stage":2,"mics_shard_size":8})"),
        "\"mics_shard_size\" needs"},
       {"predict " + on
            + zero_job(
                R"("train_batch_size":64,"zero_optimization":{"stage":1,"zero_hpz_partition_size":8})"),
        "\"zero_hpz_partition_size\" needs"}});
}

TEST_CASE("predict --torchtitan: peaks of its paper (arXiv 2410.06511, tables 1 and 2)") {
  // Llama 3.1 8B on 8 H100 with 95 GiB, 2 x 8192 tokens a rank: reserved memory in GB.
  std::string const on =
      "--cluster 8xH100-96 --batch 16 --sequence 8192 --micro-batch 2 --sharding full ";
  auto const peak = [&](std::string const& run) {
    return predicted_run("--model llama3-8b " + run)["peak_bytes"].get<double>() / 1e9;
  };
  CHECK(peak(on + "--recompute op") == doctest::Approx(82.7).epsilon(0.03));
  CHECK(peak("--cluster 8xH100-96 --batch 8 --sequence 32768 --micro-batch 1 --sharding full "
             "--recompute full --precision fp8 --stack torchtitan")
        == doctest::Approx(90.1).epsilon(0.03));
}

TEST_CASE("predict: buckets, dispatch and the optimizer's formats, as jobs and DeepSpeed say them") {
  auto const titan = [](char const* parallelism, char const* more = "") {
    return options_on("8xH200", titan_job(parallelism, more));
  };
  char const* const copies = "data_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1";
  CHECK(contains(titan(copies), "--fact data-overlap=on,bucket=26214400"));
  CHECK(contains(titan("data_parallel_shard_degree = -1", "dtype = \"bfloat16\""),
                 "--fact main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"));
  for (char const* each : {"deepep", "hybridep"})
    CHECK(contains(titan((std::string("expert_parallel_comm_backend = \"") + each + "\"").c_str()),
                   "--fact expert-dispatch=once"));
  auto const zero = [](std::string const& keys) {
    return options_on("8xH200", zero_job(R"("train_batch_size":64,"bf16":{"enabled":true},)"
                                         R"("zero_optimization":{)"
                                         + keys + "}"));
  };
  CHECK(contains(zero(R"("stage":1)"), "--fact data-overlap=off,bucket=500000000"));
  CHECK(contains(zero(R"("stage":1,"overlap_comm":true,"reduce_bucket_size":2e8)"),
                 "--fact data-overlap=on,bucket=200000000"));
  CHECK(contains(zero(R"("stage":2,"reduce_bucket_size":"auto")"), "bucket=500000000"));
  CHECK(!contains(zero(R"("stage":3)"), "--fact"));
}

TEST_CASE("predict --torchtitan: what it compiles, and what it runs again") {
  std::string const on = "data_parallel_shard_degree = -1\n";
  auto const options = [&](std::string const& more) {
    return options_on("8xH200", titan_job(on + more));
  };
  CHECK(contains(options(""), "--recompute op --stack torchtitan"));
  CHECK_FALSE(contains(options(""), "--fact"));
  CHECK(contains(options("[compile]\nenable = true\n"),
                 "--fact fused-activation=on,fused-rotation=on,loss=fused"));
  CHECK(contains(options("[compile]\nenable = true\ncomponents = [\"loss\"]\n"), "--fact loss=fused"));
  for (char const* const how : {"load_balance = false", "load_balancer = \"none\""})
    CHECK(contains(options(std::string("context_parallel_") + how), "--fact context-balance=off"));
  CHECK(contains(options("[activation_checkpoint]\nmode = \"full\"\n"), "--recompute full"));
  CHECK(contains(options("[activation_checkpoint]\nselective_ac_option = \"2\"\n"),
                 "--recompute full:2n+1"));
  CHECK(
      contains(options("[activation_checkpoint]\nselective_ac_option = \"1\"\n"), "--recompute full "));
  std::string const go = "predict --model 8B --cluster 8xH200 --sequence 4096 --batch 8 ";
  all_refused({{go + "--recompute op,layernorm", "op decides for all parts of a layer"},
               {go + "--recompute op --offload-activations core_attn", "leave with `full`"},
               {"predict --model "
                    + scratch_file("mamba.json", R"({"model_type": "mamba2", "num_hidden_layers": 8})")
                    + " --cluster 8xH200 --sequence 4096 --batch 8 --recompute op",
                "no layer of the model has a part 'op'"}});
}

TEST_CASE("predict: weights on the host, as jobs and DeepSpeed say them") {
  auto const options = [](std::string const& job) {
    return predicted_run("--cluster 8xH200 " + job)["options"].get<std::string>();
  };
  CHECK(contains(options(titan_job("", "enable_cpu_offload = true")),
                 "--offload-optimizer --offload-weights own"));
  std::string const zero = R"("train_batch_size":64,"bf16":{"enabled":true},"zero_optimization":{)",
                    weights = R"("offload_param":{"device":"cpu"})";
  CHECK(contains(options(zero_job(zero + R"("stage":3,)" + weights + "}")),
                 "--sharding full --offload-weights copies"));
  CHECK(contains(
      options(zero_job(zero + R"("stage":3,"offload_optimizer":{"device":"cpu"},)" + weights + "}")),
      "--offload-optimizer --offload-weights copies"));
  std::string const below = options(zero_job(zero + R"("stage":2,)" + weights + "}"));
  CHECK(contains(below, "--sharding gradients"));
  CHECK(!contains(below, "--offload"));
  std::string const go = "predict --cluster 8xH200 ";
  all_refused({{go + zero_job(zero + R"("stage":3,"offload_param":{"device":"nvme"}})"),
                "move values to that device"}});
}

TEST_CASE("predict --torchtitan: its schedules and stages") {
  std::string const pipeline = "pipeline_parallel_degree = 4\npipeline_parallel_schedule = ";
  for (auto const& [name, part] : std::vector<std::pair<std::string, std::string>>{
           {"1F1B", "--layout '8,9,8,7' --schedule 1f1b"},
           {"gpipe", "--schedule gpipe"},
           {"Interleaved1F1B", "--chunks 2"},
           {"Interleaved1F1B", "--layout '4,5,4,4,4,4,4,3' --schedule interleaved"},
           {"LoopedBFS", "--schedule looped-bfs"},
           {"InterleavedZeroBubble", "--schedule interleaved-zb"},
           {"ZBVZeroBubble", "--schedule zbv"},
           {"zbvzerobubble", "--schedule zbv"},
           {"DualPipeV", "--schedule dualpipev"}})
    CHECK(contains(options_on("8xH200", titan_job(pipeline + "\"" + name + "\"")), part));
  std::string const listed =
      pipeline + "\"1F1B\"  # of all\nmodule_fqns_per_model_part = [\n  [\"tok_embeddings\", ";
  auto const some = [](int from, int to) {
    std::string all;
    for (int i = from; i < to; ++i)
      all += (i > from ? ", " : "") + ("\"layers." + std::to_string(i) + "\"");
    return all;
  };
  CHECK(contains(options_on("8xH200", titan_job(listed + some(0, 6) + "],  # [the first]\n ["
                                                + some(6, 15) + "],\n [" + some(15, 24) + ",],\n ["
                                                + some(24, 32) + ", \"norm\", \"output\"],\n]")),
                 "--layout 'Etttttt|ttttttttt|ttttttttt|ttttttttL'"));
  CHECK(contains(
      options_on("8xH200",
                 titan_job(pipeline + "\"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 3")),
      "--chunks 3"));
  std::string const go = "predict --cluster 8xH200 ";
  all_refused(
      {{go + titan_job(pipeline + "\"ZBH1\""), "no schedule 'ZBH1' is predicted"},
       {go
            + titan_job(pipeline
                        + "\"PipelineScheduleMulti\"\npipeline_parallel_schedule_csv = \"x.csv\""),
        "--schedule"},
       {go + titan_job(pipeline + "\"1F1B\"\npipeline_parallel_layers_per_stage = 3"),
        "12 stages on 4 pipeline ranks"},
       {go + titan_job(pipeline + "\"1F1B\"\npipeline_parallel_microbatch_size = 3"),
        "no multiple of pipeline_parallel"},
       {go + titan_job(pipeline + "\"1F1B\"", "global_batch_size = 32"), "fills and drains 2 times"},
       {go + titan_job(pipeline + "\"1F1B\"", "global_batch_size = 9"),
        "global_batch_size 9 is no multiple"},
       {go + titan_job("tensor_parallel_degree = 2\ntensor_parallel_degree = 4"),
        "says parallelism.tensor_parallel_degree again"},
       {go + titan_job("", "[activation_checkpoint]\nmode = \"banana\""), "not 'banana'"},
       {go + titan_job("", "[[parallelism]]\ntensor_parallel_degree = 2"), "list of tables"},
       {go + titan_job("", "[activation_checkpoint]\nselective_ac_option = \"two\""),
        "selective_ac_option is op or a number, not 'two'"},
       {go + titan_job(pipeline + "\"1F1B\"", "[activation_checkpoint]\nselective_ac_option = \"2\""),
        "each rank of a pipeline counts its own layers"},
       {go + titan_job("", "dtype = \"float16\""),
        "training.dtype is float32 or bfloat16, not 'float16'"},
       {go + titan_job("", "[optimizer]\nname = \"Muon\""), "not of 'Muon'"}});
  auto const unsure = predicted_run("--cluster 8xH200 " + titan_job("new_parallel_degree = 4"));
  CHECK(unsure["interval"].is_null());
  CHECK(contains(unsure["notes"].dump(), "parallelism.new_parallel_degree"));
  // One section is misspelt; another one is about logs.
  auto const misspelt =
      predicted_run("--cluster 8xH200 " + titan_job("", "[paralelism]\ntensor_parallel_degree = 2"));
  CHECK(contains(misspelt["notes"].dump(), "paralelism.tensor_parallel_degree"));
  CHECK(predicted_run("--cluster 8xH200 " + titan_job("", "[metrics]\nlog_freq = 2"))["notes"].empty());
  // A family that may have more than a decoder.
  std::string const vlm = numbered(".toml", "[model]\nname = \"vlm\"\n[training]\nseq_len = 4096\n");
  auto const towers = predicted_run("--cluster 8xH200 --model 8B --torchtitan " + vlm);
  CHECK(towers["interval"].is_null());
  CHECK(contains(towers["notes"].dump(), "no interval: model.name=vlm"));
}

TEST_CASE("predict --deepspeed: sizes of a batch, formats, and what the Trainer fills in") {
  std::string const bf16 = R"("bf16":{"enabled":true},)";
  auto const has = [&](std::string const& keys, std::string const& part, std::string const& more = "") {
    CHECK_MESSAGE(contains(options_on("8xH200 " + more, zero_job(keys)), part), keys);
  };
  has(bf16 + R"("train_batch_size":64)", "--batch 64 --micro-batch 8");
  has(bf16 + R"("train_batch_size":64,"gradient_accumulation_steps":4)", "--batch 64 --micro-batch 2");
  has(bf16 + R"("train_micro_batch_size_per_gpu":2,"gradient_accumulation_steps":4)",
      "--batch 64 --micro-batch 2");
  has(bf16 + R"("train_micro_batch_size_per_gpu":2)", "--batch 16 --micro-batch 2");
  has(bf16 + R"("train_batch_size":16,"tensor_parallel":{"autotp_size":4})",
      "--micro-batch 8 --tensor 4");
  std::string const open = R"("train_batch_size":"auto","train_micro_batch_size_per_gpu":"auto",)"
                           R"("gradient_accumulation_steps":"auto","gradient_clipping":"auto",)"
                           R"("fp16":{"enabled":"auto"},"bf16":{"enabled":"auto"},"zero_optimization":)"
                           R"({"stage":3,"reduce_bucket_size":"auto","stage3_max_live_parameters":1e9})";
  has(open, "--batch 64 --micro-batch 2", "--batch 64 --micro-batch 2 --precision bf16");
  has(R"("train_batch_size":64,"fp16":{"enabled":"auto"},"bf16":{"enabled":true})", "--micro-batch 8");
  has(R"("train_batch_size":64,"bfloat16":{"enabled":true})", "--data 8");
  has(R"("train_batch_size":64,"fp16":{"enabled":true})", "--precision fp16");
  has(R"("train_batch_size":64,"fp16":{})", "--precision fp32");
  std::string const go = "predict --cluster 8xH200 ", batch = R"("train_batch_size":64,)";
  auto const refused = [&](std::string const& keys, std::string const& message) {
    return refused_line{go + zero_job(keys), message};
  };
  all_refused(
      {refused(open, "\"train_batch_size\" is \"auto\", which the Trainer fills in: give --batch"),
       {go + "--batch 64 " + zero_job(open), "\"train_micro_batch_size_per_gpu\" is \"auto\""},
       {go + "--batch 64 --micro-batch 1 " + zero_job(open), "give --precision"},
       refused(batch + R"("bf16":true)", "\"bf16\" must be an object"),
       refused(batch + R"("fp16":{"enabled":"yes"})", "\"enabled\" must be true or false"),
       refused(batch + bf16 + R"("fp16":{"enabled":true})", "enabled at once"),
       refused(
           bf16
               + R"("train_batch_size":64,"train_micro_batch_size_per_gpu":1,"gradient_accumulation_steps":4)",
           "\"train_batch_size\" 64 is not \"train_micro_batch_size_per_gpu\" 1 x"),
       refused(bf16 + R"("train_batch_size":63)", "\"train_batch_size\" 63 is not a multiple of"),
       refused(batch + R"("zero_optimization":{"stage":"3"})", "\"stage\" must be a whole number"),
       refused(batch + R"("zero_optimization":true)", "\"zero_optimization\" must be an object"),
       refused(batch + R"("zero_optimization":{"stage":3},"pipeline":{"stages":2})",
               "pipelines stop at stages 2 and 3"),
       refused(batch + R"("sequence_parallel_size":8)", "\"sequence_parallel_size\""),
       refused(batch + R"("optimizer":{"type":"OneBitAdam"})", "only the state of Adam"),
       refused(batch + R"("msamp":{"enabled":true,"opt_level":"O2"})",
               "weights, gradients and state in 8"),
       refused(
           batch + R"("zero_optimization":{"stage":3,"offload_optimizer":{"device":"cpu","ratio":0.3}})",
           "\"ratio\"")});
  auto const unsure =
      predicted_run("--cluster 8xH200 "
                    + zero_job(batch + bf16
                               + R"("zero_optimization":{"stage":3,)"
                                 R"("zero_quantized_weights":true},"elasticity":{"enabled":true})"));
  CHECK(unsure["interval"].is_null());
  CHECK(contains(unsure["notes"].dump(), "zero_optimization.zero_quantized_weights elasticity"));
}

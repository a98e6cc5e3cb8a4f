// Reads a job of torchtitan as a run.
#include "options/number_option.hpp"
#include "predict/framework_files.hpp"
#include "predict/given_sizes.hpp"
#include "predict/names.hpp"
#include "predict/torchtitan_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Turns names of modules, with commas in each stage and blanks between, into layers of each stage.
std::string layout_of_modules(std::string_view parts, long long& stages) {
  std::string layout;
  stages = 0;
  while (!parts.empty()) {
    auto const end = std::min(parts.find(' '), parts.size());
    std::string_view part = parts.substr(0, end);
    parts.remove_prefix(std::min(end + 1, parts.size()));
    if (stages++ > 0) layout += '|';
    while (!part.empty()) {
      auto const comma = std::min(part.find(','), part.size());
      std::string_view const name = part.substr(0, comma);
      layout += name == "tok_embeddings" ? "E" : name == "lm_head" || name == "output" ? "L" : "";
      if (name.starts_with("layers.")) layout += 't';
      part.remove_prefix(std::min(comma + 1, part.size()));
    }
  }
  return layout;
}

// The families of torchtitan/models that are decoders alone; others may have a tower before it.
constexpr std::array decoder_names{"llama",       "llama2", "llama3", "llama4",
                                   "deepseek_v3", "qwen3",  "gpt_oss"};

// Finds the model by the function of the registry, or by name and flavor; empty: it is none of ours.
std::string model_of_job(torchtitan_job const& job) {
  std::string const name = job.word({"model.name"}, ""), flavor = job.word({"model.flavor"}, ""),
                    config = job.word({"config"}, "");
  job.word({"module"}, "");
  for (auto const& [model, made_by] : torchtitan_models)
    if (!config.empty() && std::string_view(made_by).ends_with(" " + config)) return model;
  constexpr std::array flavors{
      std::pair{"llama3 8B", "llama3-8b"},         std::pair{"llama3 70B", "llama3-70b"},
      std::pair{"llama3 405B", "llama3.1-405b"},   std::pair{"deepseek_v3 671B", "deepseek-v3"},
      std::pair{"qwen3 30B-A3B", "qwen3-30b-a3b"}, std::pair{"qwen3 32B", "qwen3-32b"}};
  for (auto const& [of, model] : flavors)
    if (name + " " + flavor == of) return model;
  return {};
}

struct torch_schedule_name {
  char const* name;  // of PyTorch
  char const* ours;
  bool has_chunks;
};

// From get_schedule_class of torch/distributed/pipelining/schedules.py.
constexpr std::array torch_schedules{
    torch_schedule_name{"1F1B", "1f1b", false},
    torch_schedule_name{"GPipe", "gpipe", false},
    torch_schedule_name{"Interleaved1F1B", "interleaved", true},
    torch_schedule_name{"LoopedBFS", "looped-bfs", true},
    torch_schedule_name{"InterleavedZeroBubble", "interleaved-zb", true},
    torch_schedule_name{"ZBVZeroBubble", "zbv", true},
    torch_schedule_name{"DualPipeV", "dualpipev", true}};

torch_schedule_name schedule_of(torchtitan_job const& job) {
  if (std::string const csv = job.word(
          {"parallelism.pipeline_parallel_schedule_csv", "experimental.pipeline_parallel_schedule_csv"},
          "");
      !csv.empty())
    job.fail("pipeline_parallel_schedule_csv: a schedule of a file is given by --schedule");
  std::string const name = job.word(
      {"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"}, "1F1B");
  std::vector<std::string> names;
  for (torch_schedule_name const& each : torch_schedules) {
    names.emplace_back(each.name);
    if (in_small_letters(each.name) == in_small_letters(name)) return each;
  }
  job.fail(fmt::format("pipeline_parallel_schedule: no schedule '{}' is predicted{}; there are: {}",
                       name.substr(0, 64), did_you_mean(name, names), fmt::join(names, " ")));
}

// Divides layers as torchtitan does: embedding and head weigh as many layers as the job says, and the
// first stages get the rest (_generate_llm_fqn_per_model_part of distributed/pipeline_parallel.py,
// 0.3.0).
std::string dealt_layers(torchtitan_job const& job, long long layers, long long stages, long long before,
                         long long behind) {
  long long const all = layers + before + behind, each = all / stages, more = all % stages;
  if (each < 1 || before > each || behind > each)
    job.fail(
        fmt::format("torchtitan stops: {} stages are too many for {} layers, an embedding of {} and a "
                    "head of {}",
                    stages, layers, before, behind));
  std::string text;
  for (long long s = 0; s < stages; ++s)
    text +=
        fmt::format("{}{}", s == 0 ? "" : ",",
                    each + (s < more ? 1 : 0) - (s == 0 ? before : 0) - (s == stages - 1 ? behind : 0));
  return text;
}

class torchtitan_reader {
 public:
  torchtitan_reader(torchtitan_job job, beside_file const& with)
      : job_(std::move(job)), with_(with), beside_(with.given), devices_(with.devices) {}

  framework_run run() {
    if (std::string const known = model_of_job(job_); !known.empty()) set("model", known);
    refuse_open_values();
    read_ranks();
    read_batch();
    if (pipeline_ > 1) read_stages();
    read_memory();
    read_program();
    read_precision();
    run_.not_read = job_.not_read();
    if (std::string const name = job_.word({"model.name"}, "");
        !name.empty() && std::ranges::find(decoder_names, name) == decoder_names.end())
      run_.not_known +=
          fmt::format("{}model.name={}", run_.not_known.empty() ? "" : " ", name.substr(0, 64));
    std::string const more = job_.not_known();
    run_.not_known += (run_.not_known.empty() || more.empty() ? "" : " ") + more;
    return std::move(run_);
  }

 private:
  void set(char const* option, std::string const& value) { run_.options[option] = value; }
  void set(char const* option, long long value) { set(option, fmt::format("{}", value)); }
  long long size(char const* option, torchtitan_job::names any, long long otherwise) {
    long long const found = beside_.has(option) ? beside_.number(option) : job_.number(any, otherwise);
    set(option, std::max(1LL, found));
    return std::max(1LL, found);
  }

  // A function of torchtitan's registry may give any value that the arguments leave out.
  void refuse_open_values() {
    std::string const config = job_.word({"config"}, "");
    if (config.empty()) return;
    for (auto const& [key, option] : {std::pair{"training.local_batch_size", "micro-batch"},
                                      std::pair{"parallelism.tensor_parallel_degree", "tensor"},
                                      std::pair{"parallelism.pipeline_parallel_degree", "pipeline"},
                                      std::pair{"parallelism.context_parallel_degree", "context"}})
      if (!beside_.has(option) && job_.word({key}, "").empty())
        job_.fail(
            fmt::format("its --config {} may say {}, and is not evaluated here: give --{}, or use "
                        "`python -m ashlar_pp.read launch`, which asks torchtitan",
                        config.substr(0, 64), key, option));
  }

  // Reads shards over some ranks, copies over the others (ParallelDims of distributed/parallel_dims.py).
  void read_ranks() {
    tensor_ =
        size("tensor", {"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"}, 1);
    pipeline_ =
        size("pipeline",
             {"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree"}, 1);
    context_ = size("context",
                    {"parallelism.context_parallel_degree", "experimental.context_parallel_degree"}, 1);
    size("expert", {"parallelism.expert_parallel_degree"}, 1);
    if (long long const within = job_.number({"parallelism.expert_tensor_parallel_degree"}, 0);
        within > 0)
      set("expert-tensor", within);
    long long const copies = std::max(1LL, job_.number({"parallelism.data_parallel_replicate_degree",
                                                        "training.data_parallel_replicate_degree"},
                                                       1)),
                    below = tensor_ * pipeline_ * context_;
    long long shards = job_.number(
        {"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree"}, -1);
    bool const leaves_rest = shards < 1;
    if (leaves_rest) shards = std::max(1LL, devices_ / std::max(1LL, below * copies));
    data_ = beside_.has("data") ? beside_.number("data") : copies * shards;
    // Sizes of the command line may be for other numbers of ranks.
    bool const is_asked_alike = !beside_.has("data") && !beside_.has("tensor")
                                && !beside_.has("pipeline") && !beside_.has("context");
    if (is_asked_alike && copies * shards * below != devices_)
      job_.fail(fmt::format(
          "torchtitan stops: data_parallel_replicate_degree {} x data_parallel_shard_degree {} "
          "x {} tensor, context and pipeline ranks is {}, and --cluster has {} devices",
          copies, shards, below, copies * shards * below, devices_));
    if (!is_asked_alike && !beside_.has("data")) data_ = std::max(1LL, devices_ / std::max(1LL, below));
    if (beside_.has("sharding")) return;
    bool const never = job_.word({"parallelism.fsdp_reshard_after_forward"}, "default") == "never";
    bool const is_shared = shards * context_ > 1;
    set("sharding", !is_shared ? "none" : never && pipeline_ == 1 ? "gradients" : "full");
    if (is_shared && copies > 1) set("shard-ranks", shards * context_);
  }

  void read_batch() {
    if (!beside_.has("sequence")) set("sequence", job_.word({"training.seq_len"}, ""));
    long long const local = job_.number({"training.local_batch_size", "training.batch_size"}, 8),
                    said = job_.number({"training.global_batch_size"}, -1),
                    all = said > 0 ? said : local * data_,
                    part = job_.number({"parallelism.pipeline_parallel_microbatch_size"}, 1),
                    micro = pipeline_ > 1 ? part : local;
    if (local < 1 || micro < 1)
      job_.fail("local_batch_size and pipeline_parallel_microbatch_size are from 1 on");
    if (!beside_.has("batch") && all % (local * data_) != 0)
      job_.fail(fmt::format(
          "torchtitan stops: global_batch_size {} is no multiple of local_batch_size {} x {} "
          "data ranks",
          all, local, data_));
    if (local % micro != 0)
      job_.fail(
          fmt::format("torchtitan stops: local_batch_size {} is no multiple of "
                      "pipeline_parallel_microbatch_size {}",
                      local, micro));
    if (pipeline_ > 1 && !beside_.has("batch") && all != local * data_)
      job_.fail(
          fmt::format("its pipeline fills and drains {} times a step, which is not predicted: "
                      "local_batch_size {} fills it once",
                      all / (local * data_), all / data_));
    set("batch", all);
    set("micro-batch", micro);
  }

  void read_stages() {
    torch_schedule_name const order = schedule_of(job_);
    set("schedule", order.ours);
    long long stages = pipeline_ * (order.has_chunks ? 2 : 1);
    if (std::string const parts = job_.word({"parallelism.module_fqns_per_model_part"}, "");
        !parts.empty() && parts != "None") {
      set("layout", layout_of_modules(parts, stages));
    } else if (std::string const points = job_.word({"parallelism.pipeline_parallel_split_points"}, "");
               !points.empty()) {
      job_.fail("pipeline_parallel_split_points: give the layers of each stage by --layout");
    } else {
      long long const before = job_.number({"parallelism.pipeline_parallel_first_stage_less_layers"}, 1),
                      behind = job_.number({"parallelism.pipeline_parallel_last_stage_less_layers"}, 1),
                      each = job_.number({"parallelism.pipeline_parallel_layers_per_stage"}, 0);
      auto const known = run_.options.find("model");
      if (with_.model == nullptr && known == run_.options.end()) return;  // which is said to be missing
      long long const layers = with_.model != nullptr
                                   ? with_.model->shape.layer_count()
                                   : read_described_model(known->second).shape.layer_count();
      if (each > 0) stages = (layers + before + behind + each - 1) / each;
      if (!beside_.has("layout")) set("layout", dealt_layers(job_, layers, stages, before, behind));
    }
    if (stages % pipeline_ != 0 || (stages > pipeline_) != order.has_chunks)
      job_.fail(fmt::format("torchtitan stops: {} stages on {} pipeline ranks are none of {}", stages,
                            pipeline_, order.name));
    if (!beside_.has("chunks")) set("chunks", stages / pipeline_);
  }

  // Every n-th layer that a rank makes is run again as a whole
  // (distributed/activation_checkpoint.py).
  std::string selected_layers(std::string const& option) {
    int every = 0;
    if (option == "op") return option;
    if (!read_number(option, every) || every < 0)
      job_.fail(fmt::format("selective_ac_option is op or a number, not '{}'", option.substr(0, 64)));
    if (every < 2) return "full";
    if (pipeline_ > 1)
      job_.fail(
          fmt::format("selective_ac_option '{}': each rank of a pipeline counts its own layers: "
                      "--recompute says which",
                      option.substr(0, 64)));
    return fmt::format("full:{}n+{}", every, every - 1);
  }

  void read_memory() {
    bool const is_split = job_.flag({"parallelism.enable_sequence_parallel"}, true)
                          && !job_.flag({"parallelism.no_enable_sequence_parallel"}, false);
    if (tensor_ > 1) set("sequence-parallel", is_split ? "on" : "off");
    if (job_.flag({"training.enable_cpu_offload"}, false)) set("offload-weights", "own");
    std::string const mode = job_.word({"activation_checkpoint.mode"}, "selective"),
                      option = job_.word({"activation_checkpoint.selective_ac_option"}, "op");
    if (mode != "none" && mode != "full" && mode != "selective")
      job_.fail(fmt::format("activation_checkpoint.mode is none, selective or full here, not '{}'",
                            mode.substr(0, 64)));
    set("recompute", mode == "selective" ? selected_layers(option) : mode);
    std::string const optimizer = job_.word({"optimizer.name"}, "AdamW");
    if (in_small_letters(optimizer) != "adam" && in_small_letters(optimizer) != "adamw")
      job_.fail(fmt::format("optimizer.name: only the state of Adam is counted here, not of '{}'",
                            optimizer.substr(0, 64)));
  }

  // torch.compile fuses what stands between products. torchtitan 0.3, whose models are functions of a
  // registry, takes the loss in chunks.
  void read_program() {
    bool const compiles = job_.flag({"compile.enable", "training.compile"}, false),
               is_registry = !job_.word({"config"}, "").empty();
    std::string const parts = job_.word({"compile.components"}, "model,loss"),
                      balancer = job_.word({"parallelism.context_parallel_load_balancer"}, "headtail");
    bool const is_balanced = balancer != "none" && balancer != "None"
                             && job_.flag({"parallelism.context_parallel_load_balance"}, true);
    std::vector<std::string> facts;
    if (compiles && parts.find("model") != parts.npos)
      facts.insert(facts.end(), {"fused-activation=on", "fused-rotation=on"});
    if (is_registry)
      facts.emplace_back("loss=chunks");
    else if (compiles && parts.find("loss") != parts.npos)
      facts.emplace_back("loss=fused");
    if (!is_balanced) facts.emplace_back("context-balance=off");
    std::string const backend = job_.word({"parallelism.expert_parallel_comm_backend"}, "standard");
    if (backend == "deepep" || backend == "hybridep") facts.emplace_back("expert-dispatch=once");
    // Copies sum gradients in buckets of 100 MiB in 32 bits (torchtitan, models/llama3/parallelize.py).
    if (run_.options["sharding"] == "none")
      facts.insert(facts.end(), {"data-overlap=on", "bucket=26214400"});
    // States have the format of the weights.
    if (job_.word({"training.dtype"}, "float32") == "bfloat16")
      facts.insert(facts.end(), {"main-weights=16-bit", "first-moment=16-bit", "second-moment=16-bit"});
    set("stack", "torchtitan");
    if (!facts.empty()) set("fact", fmt::format("{}", fmt::join(facts, ",")));
  }

  void read_precision() {
    std::string const converters =
        job_.word({"model.converters"}, "") + job_.word({"quantize.linear"}, "");
    bool const is_low = job_.flag({"float8.enable_float8_linear"}, false)
                        || converters.find("float8") != std::string::npos;
    bool const is_mx = converters.find("mx") != std::string::npos;
    std::string const values = job_.word({"training.mixed_precision_param"}, "bfloat16"),
                      stored = job_.word({"training.dtype"}, "float32");
    if (stored != "float32" && stored != "bfloat16")
      job_.fail(fmt::format("training.dtype is float32 or bfloat16, not '{}'", stored.substr(0, 64)));
    if (values != "bfloat16" && values != "float32")
      job_.fail(
          fmt::format("mixed_precision_param is bfloat16 or float32, not '{}'", values.substr(0, 64)));
    set("precision", is_mx ? "mxfp8" : is_low ? "fp8" : values == "float32" ? "fp32" : "bf16");
  }

  torchtitan_job job_;
  beside_file const& with_;
  given_sizes beside_;
  int devices_;
  framework_run run_;
  long long tensor_ = 1, pipeline_ = 1, context_ = 1, data_ = 1;
};

}  // namespace

framework_run read_torchtitan(std::string const& path, beside_file const& beside) {
  return torchtitan_reader(torchtitan_job(path), beside).run();
}

framework_run read_torchtitan_values(json_text const& source, nlohmann::json const& values,
                                     beside_file const& beside) {
  return torchtitan_reader(torchtitan_job(source, values), beside).run();
}

}  // namespace tool

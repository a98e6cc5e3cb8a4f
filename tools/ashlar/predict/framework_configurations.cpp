// Runs as the files that frameworks read.
#include "predict/choices.hpp"
#include "predict/frameworks.hpp"
#include "predict/layout_words.hpp"
#include "predict/megatron_facts.hpp"
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::attention_kernel;
using ashlar::cost::number_format;
using ashlar::cost::question;
using ashlar::cost::recomputation;
using ashlar::cost::sharding;
using ashlar::cost::stage;

// The names of PyTorch's schedules.
char const* torch_schedule(prediction const& p) {
  std::string const word = schedule_word(p);
  return word == "gpipe"         ? "GPipe"
         : word == "interleaved" ? "Interleaved1F1B"
         : word == "looped-bfs"  ? "LoopedBFS"
         : word == "dualpipev"   ? "DualPipeV"
         : word == "zbv"         ? "ZBVZeroBubble"
                                 : "1F1B";
}

// Megatron-LM's names of what is run again.
std::string modules_of(recomputation again, char const* between) {
  std::string text;
  recomputation said = recomputation::none;
  for (auto const& [word, part] : recomputation_choices) {
    if (part == recomputation::none || !has(again, part) || has(said, part)
        || std::string_view(word) == "attention")
      continue;
    said = said | part;
    text += (text.empty() ? "" : between) + std::string(word);
  }
  return text;
}

// torchtitan's subcommand.
char const* torchtitan_checkpoint(recomputation again) {
  return has(again, recomputation::full)        ? "full"
         : has(again, recomputation::operators) ? "selective"
                                                : "none";
}

// Transformer Engine's names: of the package flash-attn, of cuDNN, or of single kernels. Empty: its
// choice.
char const* megatron_backend(attention_kernel kernel) {
  switch (kernel) {
    case attention_kernel::unfused:
      return "unfused";
    case attention_kernel::flash_2:
    case attention_kernel::flash_3:
      return "flash";
    case attention_kernel::cudnn:
      return "fused";
    default:
      return "";
  }
}

std::vector<argument> megatron_run_arguments(prediction const& p) {
  question const& q = p.asked;
  std::vector<argument> all;
  auto const add = [&](char const* name, auto const& value) {
    all.push_back({name, fmt::format("{}", value)});
  };
  auto const flag = [&](char const* name) { all.push_back({name, ""}); };
  add("seq-length", q.sequence);
  add("max-position-embeddings", q.sequence);
  add("global-batch-size", q.batch);
  add("micro-batch-size", q.layout.micro_batch);
  add("tensor-model-parallel-size", q.layout.tensor);
  add("pipeline-model-parallel-size", q.layout.pipeline);
  if (q.layout.context > 1) add("context-parallel-size", q.layout.context);
  if (q.model.has_experts()) {
    add("expert-model-parallel-size", q.layout.expert);
    add("expert-tensor-parallel-size", q.layout.expert_tensor);
    if (schedule_word(p) == "combined-1f1b") flag("overlap-moe-expert-parallel-comm");
  }
  if (stack_of(q).splits_sequences) flag("sequence-parallel");
  if (q.layout.pipeline_inside) flag("use-tp-pp-dp-mapping");
  std::vector<stage> const stages = stages_of(q);
  bool const says_layout = q.layout.pipeline > 1
                           && (!deals_evenly(stages) || stages.back().predictions < q.model.predictions);
  if (says_layout)
    add("pipeline-model-parallel-layout", megatron_letters(stages));
  else if (q.layout.chunks > 1)
    add("num-layers-per-virtual-pipeline-stage", stages.front().count);
  if (q.layout.sharding == sharding::full || q.layout.sharding == sharding::gradients) {
    flag("use-megatron-fsdp");
    add("data-parallel-sharding-strategy",
        q.layout.sharding == sharding::full ? "optim_grads_params" : "optim_grads");
  }
  if (q.layout.sharding != sharding::none) flag("use-distributed-optimizer");
  if (has(q.layout.recompute, recomputation::full)) {
    add("recompute-granularity", "full");
    add("recompute-method", q.layout.recompute_in.are_all() ? "uniform" : "block");
    add("recompute-num-layers", q.layout.recompute_in.are_all() ? 1 : q.layout.recompute_in.first);
  } else if (q.layout.recompute != recomputation::none) {
    add("recompute-granularity", "selective");
    add("recompute-modules", modules_of(q.layout.recompute, " "));
  }
  if (has(q.layout.offload.parts, ashlar::cost::offloaded::all)) {
    add("cpu-offloading-num-layers", q.layout.offload.in.first);
  } else if (q.layout.offload.parts != ashlar::cost::offloaded::none) {
    flag("fine-grained-activation-offloading");
    add("offload-modules", offload_parts(q, " "));
  }
  if (q.layout.offload.optimizer) {
    flag("use-precision-aware-optimizer");
    flag("optimizer-cpu-offload");
    add("optimizer-offload-fraction", "1.0");
  }
  if (char const* const backend = megatron_backend(q.program.attention); *backend != 0)
    add("attention-backend", backend);
  if (q.program.format == number_format::fp16) flag("fp16");
  if (q.program.format != number_format::fp16 && q.program.format != number_format::fp32) flag("bf16");
  if (q.program.format == number_format::fp8) {
    constexpr char const* recipes[] = {"tensorwise", "delayed", "blockwise"};
    add("fp8-format", "hybrid");
    add("fp8-recipe", recipes[static_cast<int>(stack_of(q).facts.scales())]);
  }
  if (q.program.format == number_format::mxfp8) {
    add("fp8-format", "e4m3");
    add("fp8-recipe", "mxfp8");
  }
  if (q.program.format == number_format::nvfp4) add("fp4-format", "e2m1");
  return all;
}

std::string megatron_file(prediction const& p) {
  std::string why,
      text = fmt::format("# {}: arguments of Megatron-LM's pretrain_gpt.py\n", p.model.name);
  std::vector<argument> all = megatron_model_arguments(p, why);
  for (argument const& each : megatron_run_arguments(p)) all.push_back(each);
  for (named_value const& each : arguments_of_facts(p)) all.push_back({each.name, each.value});
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool const is_quoted = all[i].value.find_first_of("|()*[]") != std::string::npos;
    text += fmt::format("--{}{}{}{}\n", all[i].name, all[i].value.empty() ? "" : " ",
                        is_quoted ? "'" + all[i].value + "'" : all[i].value,
                        i + 1 < all.size() ? " \\" : "");
  }
  return text;
}

// The run as fields of Megatron-Bridge's ConfigContainer.
std::string bridge_file(prediction const& p) {
  constexpr std::array names{std::pair{"num-experts", "num_moe_experts"},
                             std::pair{"swiglu", "gated_linear_unit"}};
  constexpr std::array of_train{"global-batch-size", "micro-batch-size"};
  constexpr std::array of_ddp{"use-distributed-optimizer", "use-megatron-fsdp",
                              "data-parallel-sharding-strategy"};
  constexpr std::array of_optimizer{"use-precision-aware-optimizer", "optimizer-cpu-offload",
                                    "optimizer-offload-fraction"};
  auto const is_in = [](auto const& list, std::string const& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::string why, model = "model:\n", train = "train:\n", ddp = "ddp:\n", optimizer = "optimizer:\n";
  std::vector<argument> all = megatron_model_arguments(p, why);
  for (argument const& each : megatron_run_arguments(p)) all.push_back(each);
  bool is_low = false;
  for (argument const& each : all) {
    std::string key = each.name, value = each.value.empty() ? "true" : each.value;
    is_low = is_low || key.starts_with("fp8") || key.starts_with("fp4");
    if (key == "untie-embeddings-and-output-weights") {
      key = "share_embeddings_and_output_weights";
      value = "false";
    }
    if (key == "disable-bias-linear") {
      key = "add_bias_linear";
      value = "false";
    }
    // These follow from others, or mixed_precision tells them.
    if (key == "group-query-attention" || key == "max-position-embeddings") continue;
    for (auto const& [from, to] : names)
      if (key == from) key = to;
    if (key == "cpu-offloading-num-layers") model += "  cpu_offloading: true\n";
    if (key == "recompute-modules" || key == "offload-modules") {
      std::replace(value.begin(), value.end(), ' ', ',');
      value = "[" + value + "]";
    } else if (value.find_first_of("|()*") != std::string::npos) {
      value = "\"" + value + "\"";
    }
    std::string& section = is_in(of_train, each.name)       ? train
                           : is_in(of_ddp, each.name)       ? ddp
                           : is_in(of_optimizer, each.name) ? optimizer
                                                            : model;
    std::replace(key.begin(), key.end(), '-', '_');
    section += fmt::format("  {}: {}\n", key, value);
  }
  std::string overlaps = "comm_overlap:\n";
  for (named_value const& each : fields_of_facts(p)) {
    std::string& section = each.section == "ddp" ? ddp : each.section == "model" ? model : overlaps;
    section += fmt::format("  {}: {}\n", each.name, each.value);
  }
  return fmt::format("# {}: fields of Megatron-Bridge's ConfigContainer\n{}{}{}{}{}", p.model.name,
                     model, train, ddp, overlaps, optimizer == "optimizer:\n" ? "" : optimizer);
}

std::string torchtitan_file(prediction const& p) {
  question const& q = p.asked;
  std::string const model = torchtitan_model(p);
  auto const blank = model.find(' ');
  std::string text = fmt::format("# {}: arguments of torchtitan's train.py\n--module {} --config {}",
                                 p.model.name, model.substr(0, blank), model.substr(blank + 1));
  auto const add = [&](char const* name, auto const& value) {
    text += fmt::format(" \\\n--{} {}", name, value);
  };
  bool const is_full = q.layout.sharding == sharding::full;
  add("training.seq_len", q.sequence);
  add("training.local_batch_size",
      q.layout.pipeline > 1 ? q.batch / q.layout.data : q.layout.micro_batch);
  add("training.global_batch_size", q.batch);
  text += " \\\n--training.disable_cuda_graphs";
  add("parallelism.tensor_parallel_degree", q.layout.tensor);
  if (q.layout.tensor > 1 && !stack_of(q).splits_sequences)
    text += " \\\n--parallelism.no-enable_sequence_parallel";
  add("parallelism.pipeline_parallel_degree", q.layout.pipeline);
  add("parallelism.context_parallel_degree", q.layout.context);
  add("parallelism.expert_parallel_degree", q.layout.expert);
  add("parallelism.data_parallel_shard_degree", is_full ? q.layout.data : 1);
  add("parallelism.data_parallel_replicate_degree", is_full ? 1 : q.layout.data);
  if (q.layout.pipeline > 1) {
    add("parallelism.pipeline_parallel_schedule", torch_schedule(p));
    add("parallelism.pipeline_parallel_microbatch_size", q.layout.micro_batch);
    text += " \\\n--parallelism.module_fqns_per_model_part";
    for (stage const& s : stages_of(q))
      text += fmt::format(" {}", fmt::join(torchtitan_modules(s), ","));
  }
  if (stack_of(q).facts.has(ashlar::cost::fact::fused_activation)) text += " \\\n--compile.enable";
  // The subcommand comes last.
  return text
         + fmt::format(" \\\nactivation-checkpoint:{}\n", torchtitan_checkpoint(q.layout.recompute));
}

std::string deepspeed_file(prediction const& p) {
  question const& q = p.asked;
  nlohmann::ordered_json made{{"train_batch_size", q.batch},
                              {"train_micro_batch_size_per_gpu", q.layout.micro_batch},
                              {"gradient_accumulation_steps", q.micro_batches()},
                              {"zero_optimization", {{"stage", static_cast<int>(q.layout.sharding)}}},
                              {"data_types", {{"grad_accum_dtype", "fp32"}}}};
  if (q.layout.tensor > 1) made["tensor_parallel"] = {{"autotp_size", q.layout.tensor}};
  if (q.layout.offload.optimizer)
    made["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (q.layout.pipeline > 1) made["pipeline"] = {{"stages", q.layout.pipeline}};
  if (q.layout.recompute == recomputation::full) made["pipeline"]["activation_checkpoint_interval"] = 1;
  if (q.program.format != number_format::fp32)
    made[q.program.format == number_format::fp16 ? "fp16" : "bf16"] = {{"enabled", true}};
  return made.dump(1) + "\n";
}

}  // namespace

std::string configuration_of(framework const& f, prediction const& p) {
  std::string const name = f.name;
  return name == "megatron"          ? megatron_file(p)
         : name == "megatron-bridge" ? bridge_file(p)
         : name == "torchtitan"      ? torchtitan_file(p)
                                     : deepspeed_file(p);
}

}  // namespace tool

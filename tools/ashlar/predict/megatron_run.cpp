// Reads arguments of Megatron-LM as a run.
#include "predict/framework_files.hpp"
#include "predict/given_sizes.hpp"
#include "predict/megatron_command.hpp"
#include "predict/megatron_description.hpp"
#include "predict/megatron_encoder.hpp"
#include "predict/megatron_facts.hpp"
#include "predict/megatron_names.hpp"
#include "predict/megatron_stages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

namespace {

using ashlar::cost::architecture;

std::string megatron_precision(megatron_command& a) {
  bool const is_fp4 = a.has("fp4_format") || a.has("fp4"), is_fp8 = a.has("fp8_format") || a.has("fp8"),
             is_fp16 = a.has("fp16"), is_bf16 = a.has("bf16");
  std::string const recipe = a.word("fp8_recipe"), mixed = a.word("mixed_precision");
  for (char const* each : {"fp8_format", "fp8", "fp4_format", "fp4"}) a.word(each);
  if ((is_fp4 && is_fp8) || (is_fp16 && is_bf16))
    a.fail(fmt::format("has {} at once, at which Megatron-LM stops",
                       is_fp16 && is_bf16 ? "--fp16 and --bf16" : "fp8 and fp4"));
  auto const mixes = [&](char const* part) { return mixed.find(part) != std::string::npos; };
  if (is_fp4 || mixes("fp4")) return "nvfp4";
  if (is_fp8 || mixes("fp8")) return recipe == "mxfp8" || mixes("mxfp8") ? "mxfp8" : "fp8";
  return is_fp16 || mixes("fp16") ? "fp16" : is_bf16 || mixes("bf16") ? "bf16" : "fp32";
}

// Puts commas between names that have blanks, commas or brackets between them.
std::string listed(std::string const& modules) {
  std::string parts;
  for (std::size_t at = 0; at < modules.size();) {
    std::size_t const end = std::min(modules.find_first_of(" ,[]'\"", at), modules.size());
    if (end > at) parts += (parts.empty() ? "" : ",") + modules.substr(at, end - at);
    at = end + 1;
  }
  return parts;
}

// Reads inputs of modules, or all that the first layers keep.
std::string megatron_offload(megatron_command& a) {
  std::string const modules = listed(a.word("offload_modules"));
  long long const layers = a.number("cpu_offloading_num_layers", 0);
  if (a.has("cpu_offloading_weights"))
    a.fail("sends weights to the host: nothing here says what that takes");
  if (a.has("fine_grained_activation_offloading")) return modules;
  return layers > 0 ? fmt::format("full:{}", layers) : "none";
}

// `block` recomputes a given number of first layers of each stage; `uniform` all.
std::string megatron_recomputation(megatron_command& a) {
  std::string const how = a.word("recompute_granularity"), method = a.word("recompute_method");
  long long const layers = a.number("recompute_num_layers", 0);
  std::string const modules = a.word("recompute_modules", "core_attn");
  // Names of 2021.
  bool const is_old = a.has("checkpoint_activations") || a.has("activations_checkpoint_method");
  if (is_old && !how.empty()) a.fail("says recomputation by arguments of two versions of Megatron-LM");
  if (is_old) {
    long long const each =
        a.number("activations_checkpoint_num_layers", a.number("checkpoint_num_layers", 1));
    bool const is_block = a.word("activations_checkpoint_method", "uniform") == "block";
    if (!is_block && each > 1) a.fail("keeps the input of some layers alone: nothing here counts that");
    return is_block ? fmt::format("full:{}", each) : "full";
  }
  if (how == "full" && method == "uniform" && layers > 1)
    a.fail(
        fmt::format("keeps the input of every {}th layer alone: nothing here counts that; "
                    "--recompute-num-layers 1 keeps each layer's",
                    layers));
  if (how == "full") return method == "block" ? fmt::format("full:{}", layers) : "full";
  bool const of_experts = a.has("moe_layer_recompute"), is_selective = a.has("recompute_activations");
  if (how == "selective" || is_selective) return listed(modules) + (of_experts ? ",moe" : "");
  return of_experts ? "moe" : "none";
}

// `local` is Megatron's own attention, of single kernels; `fused` Transformer Engine's by cuDNN; `flash`
// the package flash-attn, whose version 3 is another one.
std::string megatron_attention(megatron_command& a) {
  std::string const backend = a.word("attention_backend", "auto");
  bool const is_local = a.word("transformer_impl") == "local";
  if (backend == "flash" || a.has("use_flash_attn")) return "flash_attention_2";
  if (backend == "fused") return "cudnn";
  return backend == "unfused" || backend == "local" || is_local ? "unfused" : "auto";
}

// Megatron-FSDP shares nothing unless it is told to (distributed_data_parallel_config.py of
// megatron-core 0.16.1; Megatron-LM's arguments of later versions share all).
std::string megatron_sharding(megatron_command& a, std::string& note) {
  bool const is_fsdp = a.has("use_megatron_fsdp") || a.has("use_custom_fsdp");
  bool const is_torch = a.has("use_torch_fsdp2"), is_shared = a.has("use_distributed_optimizer");
  std::string const strategy = a.word("data_parallel_sharding_strategy", "no_shard");
  if (a.word("outer_dp_sharding_strategy", "no_shard") != "no_shard")
    a.fail("shares the optimizer among copies of shards, too: nothing here counts that");
  if (is_torch) return a.has("torch_fsdp2_no_reshard_after_forward") ? "gradients" : "full";
  if (!is_fsdp) return is_shared ? "optimizer" : "none";
  if (!a.has("data_parallel_sharding_strategy"))
    note =
        "--use-megatron-fsdp without --data-parallel-sharding-strategy is read as no_shard, as "
        "megatron-core 0.16 has it";
  if (strategy == "no_shard") return "none";
  if (strategy == "optim") return "optimizer";
  if (strategy == "optim_grads") return "gradients";
  if (strategy != "optim_grads_params")
    a.fail(
        fmt::format("has --data-parallel-sharding-strategy {}; there are: no_shard optim optim_grads "
                    "optim_grads_params",
                    strategy.substr(0, 64)));
  return "full";
}

// Reads the schedule, and where it differs from Megatron's usual one.
void read_schedule_of(megatron_command& a, long long pipeline, option_words& o) {
  bool const in_pairs = a.has("overlap_moe_expert_parallel_comm"), delays = a.has("delay_wgrad_compute");
  if (in_pairs) o["schedule"] = "combined-1f1b";
  if (delays && !in_pairs)
    a.fail(
        "has --delay-wgrad-compute without --overlap-moe-expert-parallel-comm, at which "
        "Megatron-Core stops");
  if (delays) o["delay-weights"] = "true";
  char const* const group = "microbatch_group_size_per_virtual_pipeline_stage";
  long long const size = a.number(group, a.number("microbatch_group_size_per_vp_stage", pipeline));
  if (size != pipeline)
    a.fail(
        fmt::format("has groups of {} micro-batches for {} pipeline ranks: interleaved passes are "
                    "predicted in groups of as many as there are ranks",
                    size, pipeline));
}

void read_optimizer(megatron_command& a, option_words& o) {
  std::string const name = a.word("optimizer", "adam");
  if (name != "adam" && name != "adamw")
    a.fail(fmt::format("trains with the optimizer '{}': only the state of Adam is counted here",
                       name.substr(0, 64)));
  if (!a.has("optimizer_cpu_offload")) return a.ignore({"optimizer_offload_fraction"});
  std::string const share = a.word("optimizer_offload_fraction", "1");
  if (share != "1" && share != "1.0")
    a.fail("keeps a part of the optimizer on the host: nothing here says what that takes");
  o["offload-optimizer"] = "true";
}

// The tokens of the encoder as an option.
std::string encoder_of(megatron_command& a, described_model const& model, long long tokens) {
  if (model.shape.towers.size() != 1) a.fail("trains an encoder and a decoder, which --model has not");
  return fmt::format("{}={}", model.shape.towers[0].name, tokens);
}

// Says so if the tables have another number of rows than are counted. `is_padded`: the vocabulary is.
void compare_rows(megatron_command& a, architecture const& model, int tensor, bool is_padded,
                  framework_run& run) {
  bool const is_whole = a.has("no_pad_vocab_size") || is_padded;
  long long const given = a.number("make_vocab_size_divisible_by", 128),
                  unit = is_whole ? 1 : std::max(1LL, given) * tensor;
  double const rows =
                   std::ceil(model.vocabulary / static_cast<double>(unit)) * static_cast<double>(unit),
               counted = ashlar::cost::padded_vocabulary(model, tensor);
  if (rows != counted)
    run.notes.push_back(
        fmt::format("its tables have {:.0f} rows, and {:.0f} are counted", rows, counted));
}

framework_run read_command(megatron_command& a, std::string const& path, beside_file const& with) {
  given_sizes const beside(with.given);
  framework_run run;
  option_words& o = run.options;
  for (char const* name : {"vocab_size", "padded_vocab_size"})
    if (beside.has("vocab-size")) a.set(name, with.given.at("vocab-size"));
  long long const encoder_tokens = trains_encoder_decoder(a.program()) ? name_sizes_of_decoder(a) : 0;
  if (with.model != nullptr)
    ignore_description(a);
  else
    run.model = megatron_description(
        a, path, beside.has("sequence") ? beside.number("sequence") : a.number("seq_length", 0),
        encoder_tokens);
  if (encoder_tokens > 0)
    o["tower-tokens"] = encoder_of(a, with.model != nullptr ? *with.model : *run.model, encoder_tokens);
  // A size that the command line gives need not be in the file.
  auto const size = [&](char const* option, char const* argument, long long otherwise) {
    a.ignore({argument});
    long long const found = beside.has(option) ? beside.number(option)
                            : otherwise < 0    ? a.number(argument)
                                               : std::max(1LL, a.number(argument, otherwise));
    o[option] = fmt::format("{}", found);
    return found;
  };
  size("sequence", "seq_length", -1);
  long long const micro = size("micro-batch", "micro_batch_size", 1),
                  tensor = size("tensor", "tensor_model_parallel_size", 1),
                  pipeline = size("pipeline", "pipeline_model_parallel_size", 1),
                  context = size("context", "context_parallel_size", 1);
  long long const data = beside.has("data")
                             ? beside.number("data")
                             : std::max(1LL, with.devices / std::max(1LL, tensor * pipeline * context));
  size("batch", "global_batch_size", std::max(1LL, micro) * data);
  size("expert", "expert_model_parallel_size", 1);
  architecture const& model = with.model != nullptr ? with.model->shape : run.model->shape;
  compare_rows(a, model, static_cast<int>(std::max(1LL, tensor)),
               a.has("padded_vocab_size") && !beside.has("vocab-size"), run);
  if (model.has_experts())
    size("expert-tensor", "expert_tensor_parallel_size", tensor);
  else
    a.ignore({"expert_tensor_parallel_size"});
  if (beside.has("layout")) {
    ignore_stages(a);
  } else {
    megatron_stages const stages = stages_of_megatron(
        a, model.layer_count(), pipeline, beside.has("chunks") ? beside.number("chunks") : 0);
    o["chunks"] = fmt::format("{}", stages.chunks);
    if (!stages.layout.empty()) o["layout"] = stages.layout;
  }
  std::string note;
  o["sharding"] = megatron_sharding(a, note);
  if (!note.empty()) run.notes.push_back(note);
  if (long long const copies = a.number("num_distributed_optimizer_instances", 1);
      copies > 1 && o["sharding"] != "none" && !beside.has("shard-ranks")) {
    if (data * context % copies != 0)
      a.fail(
          fmt::format("has {} instances of its optimizer on {} data and context ranks, which they do "
                      "not divide",
                      copies, data * context));
    o["shard-ranks"] = fmt::format("{}", data * context / copies);
  }
  read_schedule_of(a, pipeline, o);
  if (a.has("use_tp_pp_dp_mapping")) o["pipeline-inside"] = "true";
  o["recompute"] = megatron_recomputation(a);
  if (std::string const parts = megatron_offload(a); parts != "none") o["offload-activations"] = parts;
  read_optimizer(a, o);
  bool const is_split = a.has("sequence_parallel");
  if (tensor > 1) o["sequence-parallel"] = is_split ? "on" : "off";
  o["attention"] = megatron_attention(a);
  o["precision"] = megatron_precision(a);
  bool const is_of_2021 = o["precision"] == "fp16" && o["sharding"] == "none",
             is_fsdp = o["sharding"] == "full" || o["sharding"] == "gradients";
  if (!is_of_2021) {
    std::string const program = program_of_megatron(a);
    if (!is_fsdp) o["stack"] = program;
    bool const has_experts = model.has_experts();
    std::string const facts = megatron_facts(a,
                                             {.has_experts = has_experts,
                                              .dispatches = has_experts && o["expert"] != "1",
                                              .has_chunks = o.count("chunks") > 0 && o["chunks"] != "1",
                                              .has_fp8 = o["precision"] == "fp8"},
                                             run.notes);
    if (!facts.empty()) o["fact"] = facts;
  }
  a.ignore({"use_flash_attn",
            "use_custom_fsdp",
            "torch_fsdp2_no_reshard_after_forward",
            "geglu",
            "fp8_recipe",
            "train_iters",
            "lr",
            "min_lr",
            "overlap_grad_reduce",
            "overlap_param_gather",
            "moe_token_dispatcher_type",
            "use_precision_aware_optimizer",
            "main_params_dtype",
            "exp_avg_dtype",
            "exp_avg_sq_dtype",
            "moe_expert_capacity_factor",
            "bucket_size",
            "ddp_bucket_size",
            "moe_pad_expert_input_to_capacity",
            "no_overlap_p2p_communication",
            "moe_grouped_gemm",
            "moe_permute_fusion",
            "moe_shared_expert_overlap",
            "moe_enable_deepep",
            "cpu_offloading",
            "use_mcore_models"});
  if (with.model == nullptr) a.refuse_unknown_layers();
  run.not_read = a.not_read();
  run.not_known = a.not_known();
  return run;
}

}  // namespace

framework_run read_megatron(std::string const& path, beside_file const& with) {
  megatron_command a(path);
  return read_command(a, path, with);
}

framework_run read_megatron_values(json_text const& source, nlohmann::json const& values,
                                   beside_file const& with) {
  megatron_command a(source, values);
  return read_command(a, source.path, with);
}

}  // namespace tool

#include "predict/frameworks.hpp"

#include "predict/framework_files.hpp"
#include "predict/layout_words.hpp"
#include "predict/megatron_facts.hpp"
#include "predict/models.hpp"
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::number_format;
using ashlar::cost::question;
using ashlar::cost::recomputation;
using ashlar::cost::sharding;

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    auto const end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Obstacles of Megatron-Core's overlap_moe_expert_parallel_comm (transformer_config.py).
std::string obstacle_of_pairs(question const& q) {
  if (q.layout.expert == 1) return "its pairs of passes need expert ranks";
  if (has(q.layout.recompute, recomputation::full))
    return "beside pairs of passes it runs no whole layers again";
  if (q.program.format == number_format::fp32) return "its pairs of passes are of 16 bits or fewer";
  return q.model.predictions > 1 ? "its pairs of passes predict one further token at most" : "";
}

// Obstacles of Megatron-Core's fine_grained_activation_offloading and cpu_offloading
// (transformer_config.py).
std::string obstacle_of_parts(question const& q) {
  using ashlar::cost::offloaded;
  if (!has(q.layout.offload.parts, offloaded::all)) {
    if (!q.layout.offload.in.are_all()) return "it sends parts of all layers to the host, or none";
    return has(q.layout.offload.parts, offloaded::attention_result)
                   && !has(q.layout.offload.parts, offloaded::attention)
               ? "it sends what attention gives to the host only with what it takes"
               : "";
  }
  if (q.layout.pipeline > 1) return "beside a pipeline it sends parts of layers to the host, not all";
  if (q.layout.recompute != recomputation::none)
    return "it sends all of a layer to the host only without recomputation";
  return q.layout.offload.in.are_all() || q.layout.offload.in.first >= q.model.layer_count()
             ? "it sends all of a layer to the host for all layers but one at most"
             : "";
}

}  // namespace

std::vector<framework> const& frameworks() {
  static framework const megatron{
      .name = "megatron",
      .title = "Megatron-LM",
      .version = "core 0.16",
      .source =
          "megatron/core/transformer/pipeline_parallel_layer_layout.py, transformer_config.py, "
          "pipeline_parallel/schedules.py and optimizer/cpu_offloading of megatron-core 0.16.1",
      .any_division = true,
      .virtual_stages = true,
      .context = true,
      .experts = true,
      .expert_tensor = true,
      .shares_optimizer = true,
      .shares_gradients = true,
      .first_layers = true,
      .parts = true,
      .low_precision = true,
      .half = true,
      .pipeline_inside = true,
      .offloads_parts = true,
      .offloads_optimizer = true,
      .schedules = "interleaved combined-1f1b"};
  static framework const bridge = [] {
    framework f = megatron;  // on whose core it is
    f.name = "megatron-bridge";
    f.title = "Megatron-Bridge (NeMo)";
    f.version = "0.3, on core 0.16";
    f.source =
        "docs/parallelisms.md of NVIDIA-NeMo/Megatron-Bridge; its models take the fields of "
        "Megatron-Core's TransformerConfig";
    f.pipeline_inside = false;
    return f;
  }();
  static std::vector<framework> const all{
      megatron,
      bridge,
      {.name = "torchtitan",
       .title = "torchtitan",
       .version = "0.3",
       .source = "torchtitan/config/configs.py (module_fqns_per_model_part) and "
                 "distributed/pipeline_parallel.py of torchtitan 0.3.0; schedules of PyTorch's "
                 "torch/distributed/pipelining/schedules.py",
       .any_division = true,
       .virtual_stages = true,
       .context = true,
       .experts = true,
       .schedules = "interleaved gpipe looped-bfs dualpipev zbv",
       .stack = "torchtitan",
       .facts = "fused-activation=on,fused-rotation=on,loss=chunks"},  // compiled
      {.name = "deepspeed",
       .title = "DeepSpeed",
       .version = "0.17",
       .source = "deepspeed/runtime/pipe/module.py (partition_method: uniform, parameters, type) and "
                 "docs/_pages/config-json.md of deepspeedai/DeepSpeed",
       .shares_optimizer = true,
       .shares_gradients = true,
       .half = true,
       .offloads_optimizer = true,
       .schedules = ""}};
  return all;
}

std::string title_of(framework const& f) { return fmt::format("{} ({})", f.title, f.version); }

std::string torchtitan_model(prediction const& p) {
  auto const& a = p.asked.model;
  for (auto const& [name, made_by] : torchtitan_models) {
    auto const known = read_described_model(name).shape;
    if (known.kinds == a.kinds && known.layers == a.layers && known.hidden == a.hidden
        && a.towers.empty() && known.vocabulary == a.vocabulary && known.is_tied == a.is_tied)
      return made_by;
  }
  return {};
}

// Obstacles of attention kernels, and of sequences that tensor ranks split or not.
std::string obstacle_of_kernels(framework const& f, question const& q) {
  using ashlar::cost::attention_kernel;
  bool const is_megatron = std::string_view(f.name).starts_with("megatron");
  bool const is_usual = q.program.attention == attention_kernel::automatic
                        || q.program.attention == attention_kernel::fused;
  if (is_megatron && q.program.attention == attention_kernel::sdpa)
    return "its attention is Transformer Engine's, not PyTorch's";
  if (!is_megatron && !is_usual) return "nothing here writes which kernel its attention takes";
  bool const is_split = stack_of(q).splits_sequences;
  if (is_megatron && q.layout.tensor > 1 && q.model.has_experts() && !is_split)
    return "beside experts its tensor ranks split sequences";
  if (std::string_view(f.name) == "deepspeed"
      && q.program.sequence_parallel == ashlar::cost::sequence_split::on)
    return "its tensor ranks do not split sequences";
  return "";
}

bool has_schedule(framework const& f, std::string_view name) {
  return name == "1f1b" || has_word(f.schedules, name);
}

std::string obstacle_of_layout(framework const& f, question const& q, std::string const& schedule) {
  if (schedule != "none" && !has_schedule(f, schedule))
    return fmt::format("it has no schedule like {}", schedule);
  if (!q.model.has_logits()) return "nothing here writes a head in place of logits";
  if (q.model.freezes_any()) return "nothing here writes which parameters are frozen";
  if (!q.teachers.empty()) return "nothing here writes a teacher";
  if (!f.any_division && !deals_evenly(stages_of(q)))
    return "it deals layers evenly, by their parameters or by their type, not as this layout does";
  if (is_spread(stages_of(q)))
    return "it takes all losses, and predicts all further tokens, on one stage";
  if (q.layout.chunks > 1 && !f.virtual_stages) return "it has no virtual stages";
  if (q.layout.context > 1 && !f.context) return "its pipelines have no context ranks";
  if (q.model.has_experts() && !f.experts) return "its pipelines have no experts";
  if (q.layout.expert_tensor > 1 && !f.expert_tensor) return "its experts have no tensor ranks";
  bool const is_sharded =
      q.layout.sharding == sharding::full || q.layout.sharding == sharding::gradients;
  if (q.layout.sharding == sharding::optimizer && !f.shares_optimizer)
    return "it shares weights with gradients and optimizer, or nothing: not the optimizer's state alone";
  if (q.layout.sharding == sharding::gradients && !f.shares_gradients)
    return "it shares weights with gradients and optimizer, or nothing: not gradients alone";
  if (is_sharded && q.layout.pipeline > 1 && f.shares_optimizer)
    return "beside a pipeline it shares the optimizer's state at most";
  if (q.layout.recompute != recomputation::none) {
    if (!q.layout.recompute_in.these.empty())
      return "nothing here writes which single layers are run again";
    bool const is_selective = has(q.layout.recompute, recomputation::operators);
    if (is_selective && std::string_view(f.name) != "torchtitan")
      return "it does not run all but every second product again (op)";
    if (!has(q.layout.recompute, recomputation::full) && !is_selective && !f.parts)
      return "it runs whole layers again, not parts";
    if (!q.layout.recompute_in.are_all()
        && !(f.first_layers && has(q.layout.recompute, recomputation::full)))
      return "it does not run the first layers of each stage again";
  }
  if (q.layout.offload.parts != ashlar::cost::offloaded::none) {
    if (!f.offloads_parts) return "nothing here writes how it sends activations to the host";
    if (std::string const why = obstacle_of_parts(q); !why.empty()) return why;
  }
  if (q.layout.offload.weights != ashlar::cost::offloaded_weights::none)
    return "nothing here writes how it keeps weights on the host";
  if (q.layout.offload.optimizer && !f.offloads_optimizer)
    return "nothing here writes how it keeps the optimizer on the host";
  if (q.layout.offload.optimizer && q.layout.sharding == sharding::none)
    return "it keeps the optimizer on the host only where data ranks share it";
  if (q.layout.offload.optimizer && is_sharded && f.offloads_parts)
    return "beside its FSDP it keeps the optimizer on the device";
  if (ashlar::cost::is_low(q.program.format) && !f.low_precision)
    return "nothing here writes how its products get fewer bits than 16";
  if (q.program.dispatches_8_bits) return "nothing here writes that tokens go to experts in 8 bits";
  if (q.program.format == number_format::fp16 && !f.half) return "it has bf16, not fp16";
  if (q.layout.pipeline_inside && !f.pipeline_inside)
    return "its pipeline ranks are further apart than its data ranks";
  std::string const why = obstacle_of_kernels(f, q);
  return why.empty() && schedule == "combined-1f1b" ? obstacle_of_pairs(q) : why;
}

std::string obstacle_of_model(framework const& f, prediction const& p) {
  std::string_view const name = f.name;
  if (p.asked.model.has_measured_layers()) return "measured layers do not say what they compute";
  if (!p.asked.model.towers.empty()) return "nothing here writes arguments of parts before the decoder";
  if (p.asked.model.has_encoder())
    return "its attention sees all tokens, for which nothing here writes a file";
  std::string why;
  if (name.starts_with("megatron")) {
    megatron_model_arguments(p, why);
    if (why.empty()) why = done_in_place_of_facts(p, name == "megatron-bridge");
  }
  if (name == "torchtitan" && torchtitan_model(p).empty()) why = "it has no configuration of this model";
  if (name == "torchtitan" && why.empty() && p.asked.model.predictions > 0)
    why = "its configuration of this model has no layers that predict further tokens";
  return why;
}

std::string obstacle_of(framework const& f, prediction const& p) {
  if (p.asked.layout.own_order() != nullptr && p.schedule.empty())
    return "its order was found by a search";
  std::string const why = obstacle_of_layout(f, p.asked, schedule_word(p));
  return why.empty() ? obstacle_of_model(f, p) : why;
}

}  // namespace tool

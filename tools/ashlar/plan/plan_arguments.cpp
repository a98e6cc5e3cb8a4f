#include "plan/plan_report.hpp"
#include "predict/layout_words.hpp"
#include <ashlar/plan/training/sharded_parameters.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tool {

namespace {

using namespace ashlar;

// Whether all stages have as many layers, as frameworks divide them.
bool is_even(training_plan const& plan) {
  return std::all_of(plan.layers.begin(), plan.layers.end(),
                     [&](int n) { return n == plan.layers.front(); });
}

bool is_entry(training_plan const& plan, char const* name) {
  return std::string_view(plan.entry->name) == name;
}

// Arguments that both frameworks share.
std::string shared_arguments(plan_study const& s, training_plan const& plan) {
  training_layout const& l = plan.layout;
  transformer const& t = s.question.model;
  std::string text = fmt::format(
      "--tensor-model-parallel-size {} --pipeline-model-parallel-size {} --micro-batch-size {} "
      "--global-batch-size {} --num-layers {} --hidden-size {} --ffn-hidden-size {} "
      "--num-attention-heads {} --seq-length {} --max-position-embeddings {}",
      l.tensor, l.pipeline, l.micro_batch, s.question.batch, t.layers, t.hidden, t.feed_forward, t.heads,
      t.sequence, t.sequence);
  if (t.gated) text += " --swiglu";
  if (!t.tied) text += " --untie-embeddings-and-output-weights";
  if (l.sequence_parallel) text += " --sequence-parallel";
  return s.model.precision == "fp32" ? text : text + " --" + s.model.precision;
}

// The reason why neither framework runs it; empty if there is none.
std::string shared_obstacle(plan_study const& s) {
  return s.model.lists.empty() ? "" : "its layers are measured ones, of no shape";
}

// Megatron-Core's letters for stages of several sizes.
std::string letters_of(training_plan const& plan) {
  std::vector<ashlar::cost::stage> stages;
  for (int layers : plan.layers) stages.push_back({.count = layers});
  stages.front().has_embedding = true;
  stages.back().has_head = true;
  return megatron_letters(stages);
}

}  // namespace

std::string megatron_obstacle(plan_study const& s, training_plan const& plan) {
  if (std::string why = shared_obstacle(s); !why.empty()) return why;
  if (plan.layout.pipeline > 1 && !is_entry(plan, "depth-first") && !is_entry(plan, "1f1b"))
    return fmt::format("it has no schedule like {}", name_of(plan));
  if (plan.layout.pipeline > 1 && parameter_sharing{plan.sharding}.has_gradients())
    return "beside a pipeline it shares the optimizer's state at most";
  return {};
}

std::string deepspeed_obstacle(plan_study const& s, training_plan const& plan) {
  if (std::string why = shared_obstacle(s); !why.empty()) return why;
  if (!is_even(plan))
    return "it deals layers evenly, by their parameters or by their type, not as this plan does";
  if (s.question.model.experts > 0) return "its pipelines have no experts";
  if (plan.layout.pipeline > 1 && !is_entry(plan, "1f1b"))
    return fmt::format("it has no schedule like {}", name_of(plan));
  if (plan.layout.again == recomputation::attention) return "it recomputes whole layers only";
  if (plan.layout.pipeline > 1 && parameter_sharing{plan.sharding}.has_gradients())
    return "its pipelines share the optimizer at most";
  return {};
}

std::string megatron_arguments(plan_study const& s, training_plan const& plan) {
  training_layout const& l = plan.layout;
  transformer const& t = s.question.model;
  if (!megatron_obstacle(s, plan).empty()) return {};
  std::string text = shared_arguments(s, plan);
  if (t.key_value_heads > 0 && t.key_value_heads < t.heads)
    text += fmt::format(" --group-query-attention --num-query-groups {}", t.key_value_heads);
  if (t.experts > 0)
    text += fmt::format(" --num-experts {} --moe-router-topk {}", t.experts, t.experts_per_token);
  if (!is_even(plan))
    text += fmt::format(" --pipeline-model-parallel-layout '{}'", letters_of(plan));
  else if (l.pipeline > 1 && is_entry(plan, "depth-first"))
    text += fmt::format(" --num-layers-per-virtual-pipeline-stage {}", plan.layers.front());
  if (plan.sharding == sharding_level::optimizer) text += " --use-distributed-optimizer";
  if (parameter_sharing{plan.sharding}.has_gradients())
    text += fmt::format(" --use-megatron-fsdp --data-parallel-sharding-strategy {}",
                        plan.sharding == sharding_level::full ? "optim_grads_params" : "optim_grads");
  if (l.again == recomputation::full)
    text += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  if (l.again == recomputation::attention) text += " --recompute-granularity selective";
  return s.question.widths.scores > 0 ? text : text + " --use-flash-attn";
}

std::string deepspeed_arguments(plan_study const& s, training_plan const& plan) {
  training_layout const& l = plan.layout;
  if (!deepspeed_obstacle(s, plan).empty()) return {};
  int const stage = plan.sharding == sharding_level::full        ? 3
                    : plan.sharding == sharding_level::gradients ? 2
                    : plan.sharding == sharding_level::optimizer ? 1
                                                                 : 0;
  nlohmann::json configuration{{"train_batch_size", s.question.batch},
                               {"train_micro_batch_size_per_gpu", l.micro_batch},
                               {"gradient_accumulation_steps", plan.micro_batches},
                               {"zero_optimization", {{"stage", stage}}},
                               {"data_types", {{"grad_accum_dtype", "fp32"}}}};
  if (s.model.precision != "fp32") configuration[s.model.precision] = {{"enabled", true}};
  std::string text = shared_arguments(s, plan);
  if (!(s.question.widths.scores > 0)) text += " --use-flash-attn-v2";
  if (s.question.model.key_value_heads > 0)
    text += fmt::format(" --num-key-value-heads {}", s.question.model.key_value_heads);
  if (l.again == recomputation::full)
    text += " --checkpoint-activations --deepspeed-activation-checkpointing";
  if (l.pipeline == 1) text += " --no-pipeline-parallel";
  return fmt::format("{} --deepspeed --zero-stage {} --deepspeed_config ds.json, with ds.json: {}", text,
                     stage, configuration.dump());
}

}  // namespace tool

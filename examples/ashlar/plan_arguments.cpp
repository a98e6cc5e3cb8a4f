#include "plan_report.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tool {

namespace {

using namespace ashlar;

// The frameworks deal layers out alike.
bool is_even(training_plan const& plan) {
  return std::all_of(plan.layers.begin(), plan.layers.end(),
                     [&](int n) { return n == plan.layers.front(); });
}

bool is_entry(training_plan const& plan, char const* name) {
  return std::string_view(plan.entry->name) == name;
}

// What both have the same options for.
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
  return text + " --bf16";
}

}  // namespace

std::string megatron_arguments(plan_study const& s, training_plan const& plan) {
  training_layout const& l = plan.layout;
  transformer const& t = s.question.model;
  bool const loops = is_entry(plan, "depth-first");
  if (!s.model.lists.empty() || !is_even(plan)) return {};
  if (l.pipeline > 1 && !loops && !is_entry(plan, "1f1b")) return {};
  std::string text = shared_arguments(s, plan);
  if (t.key_value_heads > 0 && t.key_value_heads < t.heads)
    text += fmt::format(" --group-query-attention --num-query-groups {}", t.key_value_heads);
  if (t.experts > 0)
    text += fmt::format(" --num-experts {} --moe-router-topk {}", t.experts, t.experts_per_token);
  if (l.pipeline > 1 && loops)
    text += fmt::format(" --num-layers-per-virtual-pipeline-stage {}", plan.layers.front());
  if (plan.sharded) text += " --use-distributed-optimizer";
  if (l.again == recomputation::full)
    text += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  if (l.again == recomputation::attention) text += " --recompute-granularity selective";
  return text + " --use-flash-attn";
}

std::string deepspeed_arguments(plan_study const& s, training_plan const& plan) {
  training_layout const& l = plan.layout;
  if (!s.model.lists.empty() || !is_even(plan) || s.question.model.experts > 0) return {};
  if (l.pipeline > 1 && !is_entry(plan, "1f1b")) return {};
  if (l.again == recomputation::attention) return {};
  nlohmann::json const configuration{{"train_batch_size", s.question.batch},
                                     {"train_micro_batch_size_per_gpu", l.micro_batch},
                                     {"gradient_accumulation_steps", plan.micro_batches},
                                     {"zero_optimization", {{"stage", plan.sharded ? 1 : 0}}},
                                     {"bf16", {{"enabled", true}}},
                                     {"data_types", {{"grad_accum_dtype", "fp32"}}}};
  std::string text = shared_arguments(s, plan) + " --use-flash-attn-v2";
  if (s.question.model.key_value_heads > 0)
    text += fmt::format(" --num-key-value-heads {}", s.question.model.key_value_heads);
  if (l.again == recomputation::full)
    text += " --checkpoint-activations --deepspeed-activation-checkpointing";
  if (l.pipeline == 1) text += " --no-pipeline-parallel";
  return fmt::format("{} --deepspeed --zero-stage {} --deepspeed_config ds.json, with ds.json: {}", text,
                     plan.sharded ? 1 : 0, configuration.dump());
}

}  // namespace tool

#include "plan_report.hpp"

#include "byte_options.hpp"
#include "counted.hpp"
#include "table.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <utility>

namespace tool {

namespace {

using namespace ashlar;

char const* word_of(recomputation again) {
  return again == recomputation::none ? "none" : again == recomputation::full ? "full" : "attention";
}

std::string name_of(training_plan const& plan) {
  if (plan.layout.pipeline == 1) return "none";
  return chunks_of(plan) == 1 ? plan.entry->name
                              : fmt::format("{} x{}", plan.entry->name, chunks_of(plan));
}

double utilisation_of(plan_study const& s, planned_step const& step) {
  return model_utilisation(model_flops(s.question.model, s.question.batch), step.seconds,
                           s.question.device_count, s.question.machine.flops);
}

std::string gib(double bytes) { return fmt::format("{:.1f}", bytes / (1024.0 * 1024 * 1024)); }

stage_memory bytes_on(plan_study const& s, planned_step const& step) {
  training_plan const& p = step.plan;
  memory_model const m = stage_bytes(s.question.model, p.layout, p.sharded,
                                     division_of(s.question.model, p), s.question.widths);
  placement const where = passes_of(p, enough_micro_batches(p)).where;
  stage_memory sum;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    if (where.device_of(0, stage) == step.fullest) {
      stage_memory const& each = m.of(stage);
      sum.weights += each.weights;
      sum.weight_gradient += each.weight_gradient;
      sum.optimizer_state += each.optimizer_state;
    }
  return sum;
}

std::string text_of_plan(training_plan const& p) {
  return fmt::format("tensor {}, data {}, pipeline {}, micro-batch {}, {}, recomputation {}{}",
                     p.layout.tensor, p.layout.data, p.layout.pipeline, p.layout.micro_batch, name_of(p),
                     word_of(p.layout.again), p.sharded ? ", optimizer shared" : "");
}

// What the fullest device of a plan holds, by what it is.
std::string text_of_bytes(plan_study const& s, planned_step const& step) {
  stage_memory const m = bytes_on(s, step);
  double const fixed = static_cast<double>(m.weights + m.weight_gradient + m.optimizer_state);
  return fmt::format(
      "device {} of each pipeline holds {} GiB: weights and logits {}, gradients {}, optimizer {}, "
      "activations {}",
      step.fullest, gib(step.bytes), gib(static_cast<double>(m.weights)),
      gib(static_cast<double>(m.weight_gradient)), gib(static_cast<double>(m.optimizer_state)),
      gib(step.bytes - fixed));
}

std::string question_of(plan_study const& s) {
  transformer const& t = s.question.model;
  device_machine const& m = s.question.machine;
  return fmt::format(
      "{} ({}): {:.1f} billion parameters, {} layers of {}, sequences of {}; a batch of {}\n"
      "{} ({}): {} of {:.0f} TFLOP/s and {} GiB, {} a node, {:.0f} GB/s inside and {:.0f} GB/s between "
      "nodes\n"
      "Assumed: products take {:.3f} of their time at peak and exchange {:.2f}, as fitted to published "
      "steps on A100s, unless the cluster's file says "
      "otherwise;\nflash attention and fused norms; optimizer of 12 bytes a parameter; backwards split "
      "in halves where they are split.\n",
      s.model.name, s.model.source, t.parameters() / 1e9, t.layers, t.hidden, t.sequence,
      s.question.batch, s.cluster.name, s.cluster.source, counted(s.question.device_count, "device"),
      m.flops / 1e12, gib(m.memory), m.node_size, m.inside / 1e9, m.between / 1e9,
      s.question.constants.products, s.question.constants.exchange);
}

std::string best_table(plan_study const& s) {
  std::vector<std::vector<std::string>> cells{{"schedule", "recompute", "tensor", "data", "pipeline",
                                               "micro-batch", "of", "step s", "at least",
                                               "utilisation %", "GiB", "device", "exposed %"}};
  for (planned_step const& step : s.answer.best) {
    training_layout const& l = step.plan.layout;
    plan_question at_once = s.question;
    at_once.machine.between = at_once.machine.inside = 1e30;
    double const hidden = simulated_seconds(at_once, step.plan);
    cells.push_back({name_of(step.plan),
                     fmt::format("{}{}", word_of(l.again), step.plan.sharded ? ", shared" : ""),
                     std::to_string(l.tensor), std::to_string(l.data), std::to_string(l.pipeline),
                     std::to_string(l.micro_batch), std::to_string(step.plan.micro_batches),
                     fmt::format("{:.3f}", step.seconds), fmt::format("{:.3f}", step.bound),
                     percent(utilisation_of(s, step), 1), gib(step.bytes), std::to_string(step.fullest),
                     percent(1 - hidden / step.seconds, 1)});
  }
  return table(cells, 2);
}

// The best with each number of tensor ranks, and what would change with more memory or faster links.
std::string reasons(plan_study const& s) {
  planned_step const& best = s.answer.best[0];
  std::string text = "Why:\n";
  for (int t = 1; t <= s.question.machine.node_size; t *= 2) {
    plan_question q = s.question;
    q.tensor = t;
    plan_answer const a = best_of(s, q);
    if (!a.best.empty())
      text += fmt::format("  tensor {}: {:.3f} s with {}\n", t, a.best[0].seconds,
                          text_of_plan(a.best[0].plan));
    else if (!a.rejected.empty())
      text += fmt::format("  tensor {}: nothing fits; the least, {}: {}\n", t,
                          text_of_plan(a.rejected[0].plan), text_of_bytes(s, a.rejected[0]));
  }
  auto const with = [&](char const* what, plan_question const& q) {
    plan_answer const a = best_of(s, q);
    text += fmt::format("  {}: {:.3f} s ({:+.1f} %), {}\n", what, a.best[0].seconds,
                        100 * (a.best[0].seconds / best.seconds - 1), text_of_plan(a.best[0].plan));
  };
  plan_question more = s.question;
  more.machine.memory *= 1.1;
  with("with 10 % more memory", more);
  more = s.question;
  more.machine.inside *= 2;
  with("with links inside nodes twice as fast", more);
  more = s.question;
  more.machine.between *= 2;
  with("with links between nodes twice as fast", more);
  return text;
}

// Each term of the best plan's time and memory.
std::string terms(plan_study const& s) {
  planned_step const& step = s.answer.best[0];
  training_layout const& l = step.plan.layout;
  plan_question const& q = s.question;
  layer_products const p = products_of(q.model, l);
  double const product = q.constants.products / q.machine.flops;
  split_layer const layer{q.model.hidden, q.model.feed_forward, q.model.heads, q.model.sequence,
                          l.tensor,       l.sequence_parallel};
  std::string text = fmt::format(
      "Terms of the first plan, a layer and micro-batch:\n"
      "  matrices   2 tokens x parameters / tensor = {:.4g} operations: {:.3f} ms forward, twice "
      "backward\n"
      "  scores     4 tokens x hidden x sequence / tensor = {:.4g} operations: {:.3f} ms forward, twice "
      "backward\n"
      "  exchange   4 (t - 1) / t x 2 bytes x hidden x tokens = {:.4g} bytes: {:.3f} ms forward, as "
      "much backward\n"
      "  kept       {:.4g} bytes (Korthikanti et al. 2022, with what flash attention and fused norms "
      "leave)\n",
      p.matrices, p.matrices * product * 1e3, p.scores, p.scores * product * 1e3,
      exchanged_bytes(q.model, l),
      q.constants.exchange * exchanged_bytes(q.model, l) / q.machine.inside * 1e3,
      kept_bytes(layer, l.micro_batch, l.again, q.widths));
  text += fmt::format("Stages of the first plan:\n");
  std::vector<std::vector<std::string>> cells{
      {"stage", "layers", "forward ms", "backward ms", "message ms", "reduction ms"}};
  stage_division const division = division_of(q.model, step.plan);
  std::vector<stage_seconds> const all = times_of(q, step.plan);
  for (std::size_t i = 0; i < all.size(); ++i)
    cells.push_back(
        {std::to_string(i), std::to_string(division.layers[i]),
         fmt::format("{:.3f}", all[i].forward * 1e3), fmt::format("{:.3f}", all[i].backward * 1e3),
         fmt::format("{:.3f}", all[i].send * 1e3), fmt::format("{:.3f}", all[i].reduction * 1e3)});
  return text + table(cells);
}

}  // namespace

plan_answer best_of(plan_study const& study, plan_question const& otherwise) {
  return answer(otherwise, study.entries, 1, [](std::size_t, std::size_t) {});
}

std::string text_of(plan_study const& s, bool explains) {
  std::string text = question_of(s) + "\n";
  if (!s.answer.best.empty()) {
    text += best_table(s);
    text += fmt::format("\nIn the first, {}.\n", text_of_bytes(s, s.answer.best[0]));
    text += fmt::format("{} simulated, {} ruled out by their bounds.\n",
                        counted(s.answer.simulated, "plan"), s.answer.ruled_out);
  }
  if (!s.answer.rejected.empty())
    text +=
        fmt::format("{} not fit in {} GiB. The smallest, {}: {}.\n",
                    s.answer.rejected.size() == 1 ? "1 plan does"
                                                  : fmt::format("{} plans do", s.answer.rejected.size()),
                    gib(s.question.machine.memory * (1 - s.question.margin)),
                    text_of_plan(s.answer.rejected[0].plan), text_of_bytes(s, s.answer.rejected[0]));
  if (s.answer.best.empty()) return text;
  text += reasons(s);
  if (explains) text += terms(s);
  for (planned_step const& step : s.answer.best)
    if (std::string const arguments = megatron_arguments(s, step.plan); !arguments.empty())
      return text
             + fmt::format("The first plan that Megatron-LM has ({:.3f} s): {}\n", step.seconds,
                           arguments);
  return text;
}

std::string json_of(plan_study const& s) {
  auto const object_of = [&](planned_step const& step) {
    training_layout const& l = step.plan.layout;
    return nlohmann::json{{"tensor", l.tensor},
                          {"data", l.data},
                          {"pipeline", l.pipeline},
                          {"micro_batch", l.micro_batch},
                          {"micro_batches", step.plan.micro_batches},
                          {"recomputation", word_of(l.again)},
                          {"optimizer_shared", step.plan.sharded},
                          {"schedule", step.plan.entry->name},
                          {"chunks", chunks_of(step.plan)},
                          {"device", step.fullest},
                          {"bytes", step.bytes}};
  };
  nlohmann::json best = nlohmann::json::array(), rejected = nlohmann::json::array();
  for (planned_step const& step : s.answer.best) {
    best.push_back(object_of(step));
    best.back()["seconds"] = step.seconds;
    best.back()["bound"] = step.bound;
    best.back()["utilisation"] = utilisation_of(s, step);
    best.back()["megatron"] = megatron_arguments(s, step.plan);
  }
  for (planned_step const& step : s.answer.rejected) rejected.push_back(object_of(step));
  return nlohmann::json{{"plans", best},
                        {"rejected", rejected},
                        {"simulated", s.answer.simulated},
                        {"ruled_out", s.answer.ruled_out},
                        {"memory_budget", s.question.machine.memory * (1 - s.question.margin)},
                        {"parameters", s.question.model.parameters()}}
             .dump(1)
         + "\n";
}

std::string megatron_arguments(plan_study const& s, training_plan const& plan) {
  bool const loops = plan.entry->uses(parameter::chunk_count) && plan.layout.pipeline > 1;
  if (plan.layout.pipeline > 1 && !loops && std::string(plan.entry->name) != "1f1b") return {};
  if (s.question.model.layers % (plan.layout.pipeline * chunks_of(plan)) != 0) return {};
  training_layout const& l = plan.layout;
  transformer const& t = s.question.model;
  std::string text = fmt::format(
      "--tensor-model-parallel-size {} --pipeline-model-parallel-size {} --micro-batch-size {} "
      "--global-batch-size {} --num-layers {} --hidden-size {} "
      "--ffn-hidden-size {} --num-attention-heads {} --seq-length {} --max-position-embeddings {}",
      l.tensor, l.pipeline, l.micro_batch, s.question.batch, t.layers, t.hidden, t.feed_forward, t.heads,
      t.sequence, t.sequence);
  if (t.key_value_heads > 0 && t.key_value_heads < t.heads)
    text += fmt::format(" --group-query-attention --num-query-groups {}", t.key_value_heads);
  if (t.gated) text += " --swiglu";
  if (!t.tied) text += " --untie-embeddings-and-output-weights";
  if (loops)
    text += fmt::format(" --num-layers-per-virtual-pipeline-stage {}",
                        t.layers / (l.pipeline * plan.chunks));
  if (l.sequence_parallel) text += " --sequence-parallel";
  if (plan.sharded) text += " --use-distributed-optimizer";
  if (l.again == recomputation::full)
    text += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  if (l.again == recomputation::attention) text += " --recompute-granularity selective";
  return text + " --bf16 --use-flash-attn";
}

}  // namespace tool

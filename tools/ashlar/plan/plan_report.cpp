#include "plan/plan_report.hpp"

#include "report/counted.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan/training/simulated_step.hpp>
#include <ashlar/plan/training/training_plan.hpp>
#include <ashlar/program/names.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

using namespace ashlar;

std::string model_of(plan_study const& s) {
  transformer const& t = s.question.model;
  std::string text = fmt::format("{} ({}): {:.1f} billion parameters, {} layers", s.model.name,
                                 s.model.source, s.model.parameters() / 1e9, t.layers);
  if (s.model.lists.empty()) text += fmt::format(" of {}", t.hidden);
  if (t.experts > 0)
    text += fmt::format(" with {} experts, {} for a token ({:.1f} billion parameters)", t.experts,
                        t.experts_per_token, t.active_parameters() / 1e9);
  return text + fmt::format(", sequences of {}; a batch of {}\n", t.sequence, s.question.batch);
}

std::string machine_of(device_kind const& kind) {
  device_machine const& m = kind.machine;
  return fmt::format(
      "{} of {:.0f} TFLOP/s and {} GiB, {} per node, {:.0f} GB/s inside and {:.0f} GB/s between nodes",
      counted(kind.count, "device"), m.flops / 1e12, gib(m.memory), m.node_size, m.inside / 1e9,
      m.between / 1e9);
}

std::string cluster_of(plan_study const& s) {
  plan_question const& q = s.question;
  if (!s.has_kinds())
    return fmt::format("{} ({}): {}\n", s.cluster.name, s.cluster.source, machine_of(q.kinds[0]));
  std::string text =
      fmt::format("{} ({}): {} of {} kinds, {}\n", s.cluster.name, s.cluster.source,
                  counted(s.cluster.device_count(), "device"), q.kinds.size(),
                  q.between_kinds > 0 ? fmt::format("{:.0f} GB/s between them", q.between_kinds / 1e9)
                                      : "between them the slower one's network");
  for (std::size_t k = 0; k < q.kinds.size(); ++k)
    text += fmt::format("  {}: {}\n", s.cluster.kinds[k].name, machine_of(q.kinds[k]));
  return text;
}

// "1.346 of their time", for each kind where they differ.
std::string factor_of(plan_study const& s, double step_constants::*factor, int digits) {
  std::string text, first;
  bool differs = false;
  for (std::size_t k = 0; k < s.question.kinds.size(); ++k) {
    std::string const own = fmt::format("{:.{}f}", s.question.kinds[k].constants.*factor, digits);
    differs = differs || (k > 0 && own != first);
    if (k == 0) first = own;
    text += fmt::format("{}{} ({})", k == 0 ? "" : " and ", own, s.cluster.kinds[k].name);
  }
  return differs ? text : first;
}

std::string words_of(causal_share causal) {
  if (causal == causal_share{}) return {};
  return fmt::format(", {} % of forwards and {} % of input passes causal attention", causal.forward,
                     causal.backward_input);
}

std::string question_of(plan_study const& s) {
  std::string text = model_of(s) + cluster_of(s);
  if (s.model.lists.empty())
    text += fmt::format(
        "Assumed: products take {} times as long as at peak and exchanges {} times, as fitted to "
        "published steps on A100s, unless the cluster's file says otherwise;\n{}, {} attention and "
        "fused norms; ",
        factor_of(s, &step_constants::products, 3), factor_of(s, &step_constants::exchange, 2),
        s.model.precision, s.question.widths.scores > 0 ? "kept scores of" : "flash");
  else
    text += fmt::format(
        "Measured: times and bytes of layers{}. Assumed: a micro-batch takes a multiple of them;\n",
        words_of(s.question.lists[0].causal));
  return text
         + fmt::format(
             "optimizer of {:.0f} bytes per parameter; backwards split in halves where they are "
             "split.\n",
             bytes_of_parameter(s.question.model.value_bytes).optimizer);
}

std::string best_table(plan_study const& s) {
  std::vector<std::vector<std::string>> cells{
      {"schedule", "recompute", "sharding", "tensor", "data", "pipeline", "micro-batch", "of", "layers",
       "step s", "at least", "utilisation %", "bubble %", "at least", "GiB", "device", "exposed %"}};
  if (s.has_kinds()) cells[0].emplace_back("kinds (layers)");
  for (planned_step const& step : s.answer.best) {
    training_layout const& l = step.plan.layout;
    double const hidden = simulated_step(passes_of(step), times_of(without_links(s.question), step.plan),
                                         message_mode::beside);
    double const busy = busiest_seconds(s.question, step.plan);
    cells.push_back({name_of(step.plan), word_of(l.again), name_of(step.plan.sharding),
                     std::to_string(l.tensor), std::to_string(l.data), std::to_string(l.pipeline),
                     std::to_string(l.micro_batch), std::to_string(step.plan.micro_batches),
                     layers_of(step.plan), fmt::format("{:.3f}", step.seconds),
                     fmt::format("{:.3f}", step.bound),
                     percent(s.utilisation(step.plan, step.seconds), 1),
                     percent(proved_share(1 - busy / step.seconds), 1),
                     percent(proved_share(1 - busy / step.bound), 1), gib(step.bytes),
                     std::to_string(step.fullest), percent(1 - hidden / step.seconds, 1)});
    if (s.has_kinds()) cells.back().push_back(kinds_of(s, step.plan));
  }
  std::string text = table(cells, 2);
  for (std::size_t i = 0; i < s.answer.best.size(); ++i)
    if (planned_step const& step = s.answer.best[i]; step.catalog > 0)
      text += fmt::format(
          "Plan {} has an order that a search found. In the order of {} it takes {:.3f} s.\n", i + 1,
          name_of(step.plan), step.catalog);
  return text;
}

// A table of what a training costs on the whole cluster and on parts of it.
std::string size_table(plan_study const& s) {
  std::vector<std::vector<std::string>> cells{
      {"devices", "step s", "utilisation %", "days", "device hours", "plan"}};
  for (planned_step const& each : best_by_size(s))
    cells.push_back(
        {std::to_string(each.plan.device_count()), fmt::format("{:.3f}", each.seconds),
         percent(s.utilisation(each.plan, each.seconds), 1), fmt::format("{:.1f}", s.days(each.seconds)),
         fmt::format("{:.0f}", s.device_hours(each.plan, each.seconds)), text_of_plan(s, each.plan)});
  return fmt::format("\nA training on {:.4g} tokens in such batches, by size of the cluster:\n{}",
                     s.tokens, table(cells));
}

// Arguments for the best plan that each framework has the schedule and the division for.
std::string arguments_of(plan_study const& s) {
  plan_question q = s.question;
  q.levels = {sharding_level::none, sharding_level::optimizer};
  q.divides_evenly = s.has_kinds();  // else the uneven ones of several kinds come first
  plan_answer const own = answer(q, {catalog::find("1f1b"), catalog::find("depth-first")}, 20,
                                 [](plan_phase, std::size_t, std::size_t) {});
  std::string all;
  auto const add = [&](char const* framework, auto const& arguments) {
    for (planned_step const& step : own.best)
      if (std::string const text = arguments(s, step.plan); !text.empty()) {
        all += fmt::format("The best plan that {} has ({:.3f} s{}): {}\n", framework, step.seconds,
                           s.has_kinds() ? ", on " + kinds_of(s, step.plan) : "", text);
        return;
      }
  };
  add("Megatron-LM", megatron_arguments);
  add("DeepSpeed", deepspeed_arguments);
  return all;
}

}  // namespace

std::string layers_of(training_plan const& plan) {
  auto const [least, most] = std::minmax_element(plan.layers.begin(), plan.layers.end());
  return *least == *most ? std::to_string(*least) : fmt::format("{}-{}", *least, *most);
}

std::string text_of(plan_study const& s, bool explains) {
  std::string text = question_of(s) + "\n";
  if (!s.answer.best.empty()) {
    text += best_table(s);
    if (s.aim != plan_aim::time) text += size_table(s);
    text += shares_of(s);
    text += fmt::format("\nIn the first, {}.\n", text_of_bytes(s, s.answer.best[0]));
    text += fmt::format("{} simulated, {} ruled out by their bounds.\n",
                        counted(s.answer.simulated, "plan"), s.answer.ruled_out);
  }
  if (!s.answer.rejected.empty())
    text +=
        fmt::format("{} not fit in {}. The smallest, {}: {}.\n",
                    s.answer.rejected.size() == 1 ? "1 plan does"
                                                  : fmt::format("{} plans do", s.answer.rejected.size()),
                    text_of_budget(s), text_of_plan(s, s.answer.rejected[0].plan),
                    text_of_bytes(s, s.answer.rejected[0]));
  if (s.answer.best.empty()) return text;
  text += reasons_of(s);
  if (explains) text += terms_of(s);
  return text + runners_of(s) + arguments_of(s);
}

}  // namespace tool

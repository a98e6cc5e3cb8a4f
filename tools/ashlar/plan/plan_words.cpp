#include "plan/plan_report.hpp"
#include "report/proved_gap.hpp"
#include <ashlar/plan/training/plan_sites.hpp>
#include <ashlar/plan/training/training_plan.hpp>
#include <ashlar/program/names.hpp>

#include <fmt/core.h>

#include <cstddef>

namespace tool {

namespace {

using namespace ashlar;

constexpr double seconds_of_a_day = 86400;

double steps_of(plan_study const& s) {
  return s.tokens / (s.question.batch * s.question.model.sequence);
}

}  // namespace

held_bytes held_by_fullest(plan_study const& s, planned_step const& step) {
  memory_model const m = bytes_of(s.question, step.plan);
  placement const where = placement_of(step.plan);
  stage_memory sum;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    if (where.device_of(0, stage) == step.fullest) {
      stage_memory const& each = m.of(stage);
      sum.weights += each.weights;
      sum.weight_gradient += each.weight_gradient;
      sum.optimizer_state += each.optimizer_state;
    }
  return {static_cast<double>(sum.weights), static_cast<double>(sum.weight_gradient),
          static_cast<double>(sum.optimizer_state), step.bytes - static_cast<double>(sum.resident())};
}

double plan_study::utilisation(training_plan const& plan, double seconds) const {
  if (!model.lists.empty())
    return proved_share(list_of(question, plan.layout.tensor)->work() * question.batch
                        / (seconds * plan.device_count()));
  return proved_share(model_utilisation(model_flops(question.model, question.batch), seconds,
                                        plan.device_count(), mean_flops(question, plan)));
}

double plan_study::days(double seconds) const { return steps_of(*this) * seconds / seconds_of_a_day; }

double plan_study::device_hours(training_plan const& plan, double seconds) const {
  return days(seconds) * 24 * plan.device_count();
}

plan_answer best_of(plan_study const& study, plan_question const& otherwise) {
  return answer(otherwise, study.entries, 1, [](plan_phase, std::size_t, std::size_t) {});
}

plan_question without_links(plan_question question) {
  for (device_kind& each : question.kinds) each.machine.between = each.machine.inside = 1e30;
  question.between_kinds = 0;
  return question;
}

std::vector<planned_step> best_by_size(plan_study const& study) {
  std::vector<planned_step> all;
  plan_question q = study.question;
  q.takes_fewer_devices = false;
  for (bool is_even = true; is_even;) {
    plan_answer const a = best_of(study, q);
    if (a.best.empty()) break;
    all.push_back(a.best[0]);
    for (device_kind& each : q.kinds) {
      is_even = is_even && each.count % 2 == 0;
      each.count /= 2;
    }
  }
  return all;
}

char const* word_of(recomputation again) {
  return again == recomputation::none ? "none" : again == recomputation::full ? "full" : "attention";
}

std::string name_of(training_plan const& plan) {
  if (plan.layout.pipeline == 1) return "none";
  std::string name = plan.entry->name;
  if (plan.chunks > 1) name += fmt::format(" x{}", plan.chunks);
  if (plan.sequence_chunks > 1) name += fmt::format(" /{}", plan.sequence_chunks);
  return name;
}

std::string gib(double bytes) {
  return fmt::format("{:.1f}", proved_bytes(bytes) / (1024.0 * 1024 * 1024));
}

std::string kind_of_device(plan_study const& s, training_plan const& plan, int device) {
  std::string text;
  for (int kind : kinds_of_device(s.question, plan, device))
    text += (text.empty() ? "" : "+") + s.cluster.kinds[static_cast<std::size_t>(kind)].name;
  return text;
}

std::string kinds_of(plan_study const& s, training_plan const& plan) {
  placement const where = placement_of(plan);
  std::string text;
  for (int first = 0, end = 0; first < where.device_count(); first = end) {
    std::string const kind = kind_of_device(s, plan, first);
    while (end < where.device_count() && kind_of_device(s, plan, end) == kind) ++end;
    int layers = 0;
    for (int stage = 0; stage < where.stage_count(); ++stage)
      if (int const d = where.device_of(0, stage); first <= d && d < end)
        layers += plan.layers[static_cast<std::size_t>(stage)];
    text += fmt::format("{}{} {} ({})", first == 0 ? "" : ", ", end - first, kind, layers);
  }
  return text;
}

std::string text_of_budget(plan_study const& s) {
  std::string text;
  for (named_kind const& each : s.cluster.kinds) {
    std::string const bytes = gib(s.question.budget(each.kind.machine)) + " GiB";
    if (!s.has_kinds()) return bytes;
    text += fmt::format("{}{} of {}", text.empty() ? "" : " and ", bytes, each.name);
  }
  return text;
}

std::string text_of_plan(plan_study const& s, training_plan const& p) {
  std::string const text =
      fmt::format("tensor {}, data {}, pipeline {}, micro-batch {}, {}, recomputation {}, sharding {}",
                  p.layout.tensor, p.layout.data, p.layout.pipeline, p.layout.micro_batch, name_of(p),
                  word_of(p.layout.again), name_of(p.sharding));
  return s.has_kinds() ? text + ", on " + kinds_of(s, p) : text;
}

std::string text_of_bytes(plan_study const& s, planned_step const& step) {
  held_bytes const m = held_by_fullest(s, step);
  std::string device = std::to_string(step.fullest) + " of each pipeline";
  std::string bytes = gib(step.bytes) + " GiB";
  if (s.has_kinds()) {
    device += fmt::format(" ({})", kind_of_device(s, step.plan, step.fullest));
    bytes = fmt::format("{} of {} GiB", gib(step.bytes), gib(step.budget));
  }
  return fmt::format(
      "device {} holds {}: weights and logits {}, gradients {}, optimizer {}, activations {}", device,
      bytes, gib(m.weights), gib(m.gradients), gib(m.optimizer), gib(m.activations));
}

}  // namespace tool

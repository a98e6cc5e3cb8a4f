#include "command.hpp"
#include "files/data_formats.hpp"
#include "plan/plan_report.hpp"
#include "report/pictures.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include <ashlar/plan/training/training_plan.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/tradeoff.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

using namespace ashlar;

nlohmann::json object_of(plan_study const& s, planned_step const& step) {
  held_bytes const held = held_by_fullest(s, step);
  training_layout const& l = step.plan.layout;
  nlohmann::json made{{"tensor", l.tensor},
                      {"data", l.data},
                      {"pipeline", l.pipeline},
                      {"micro_batch", l.micro_batch},
                      {"micro_batches", step.plan.micro_batches},
                      {"recomputation", word_of(l.again)},
                      {"sharding", name_of(step.plan.sharding)},
                      {"schedule", step.plan.entry->name},
                      {"chunks", step.plan.chunks},
                      {"sequence_chunks", step.plan.sequence_chunks},
                      {"layers", step.plan.layers},
                      {"device", step.fullest},
                      {"bytes", step.bytes},
                      {"holds",
                       {{"weights_and_logits", held.weights},
                        {"gradients", held.gradients},
                        {"optimizer", held.optimizer},
                        {"activations", held.activations}}}};
  if (!s.has_kinds()) return made;
  placement const where = placement_of(step.plan);
  for (int stage = 0; stage < where.stage_count(); ++stage)
    made["kinds"].push_back(kind_of_device(s, step.plan, where.device_of(0, stage)));
  made["kind"] = kind_of_device(s, step.plan, step.fullest);
  made["budget"] = step.budget;
  return made;
}

// Cost over time of the best plan of each size of the cluster, and how well it uses its devices.
std::string chart_of(plan_study const& s) {
  tradeoff_curve curve{"best plans", {}, {}, {}};
  double const work = s.days(1) * s.utilisation(s.answer.best[0].plan, 1)
                      * s.answer.best[0].plan.device_count();  // device days, never idle
  for (planned_step const& each : best_by_size(s)) {
    int const count = each.plan.device_count();
    double const days = s.days(each.seconds);
    curve.utilisation.emplace_back(1.0 * s.question.batch / count,
                                   s.utilisation(each.plan, each.seconds));
    curve.cost.emplace_back(days / work, days * count / work);
    curve.clusters.push_back(count);
  }
  std::reverse(curve.utilisation.begin(), curve.utilisation.end());
  return svg({curve}, fmt::format("{} on up to {} devices, a batch of {}", s.model.name,
                                  s.cluster.device_count(), s.question.batch));
}

}  // namespace

std::string json_of(plan_study const& s) {
  nlohmann::json best = nlohmann::json::array(), rejected = nlohmann::json::array();
  for (planned_step const& step : s.answer.best) {
    nlohmann::json& object = best.emplace_back(object_of(s, step));
    object["seconds"] = step.seconds;
    object["bound"] = proved_bound(step.seconds, step.bound);
    object["busy"] = busiest_seconds(s.question, step.plan);
    if (step.catalog > 0) object["seconds_in_catalog_order"] = step.catalog;
    object["utilisation"] = s.utilisation(step.plan, step.seconds);
    object["days"] = s.days(step.seconds);
    object["device_hours"] = s.device_hours(step.plan, step.seconds);
    object["megatron"] = megatron_arguments(s, step.plan);
    object["deepspeed"] = deepspeed_arguments(s, step.plan);
  }
  nlohmann::json shares = nlohmann::json::array();
  for (kind_share const& each : s.shared.shares) {
    nlohmann::json& object = shares.emplace_back(object_of(s, each.step));
    object["sequences"] = each.batch;
    object["seconds"] = each.step.seconds;
  }
  for (planned_step const& step : s.answer.rejected) rejected.push_back(object_of(s, step));
  nlohmann::json all{{"plans", best},
                     {"rejected", rejected},
                     {"simulated", s.answer.simulated},
                     {"ruled_out", s.answer.ruled_out},
                     {"tokens", s.tokens},
                     {"parameters", s.model.parameters()}};
  if (!shares.empty())
    all["shared_batch"] = {{"seconds", s.shared.seconds()}, {"sum", s.shared.sum}, {"shares", shares}};
  if (s.has_kinds())
    for (std::size_t k = 0; k < s.question.kinds.size(); ++k)
      all["memory_budgets"][s.cluster.kinds[k].name] = s.question.budget(s.question.kinds[k].machine);
  else
    all["memory_budget"] = s.question.budget(s.question.kinds[0].machine);
  return dumped(all, 1) + "\n";
}

std::string schedule_of(plan_study const& s, bool as_json) {
  planned_step const& best = s.answer.best[0];
  return data_of(retime(passes_of(best), ashlar::costs_of(s.question, best.plan)), name_of(best.plan),
                 as_json ? "json" : "pytorch", csv_dialect::i_b,
                 {.ticks_per_unit = 1'000'000, .unit = "ms"});
}

std::string program_of(plan_study const& s) {
  planned_step const& best = s.answer.best[0];
  return data_of(passes_of(best), name_of(best.plan), "pytorch-comms", csv_dialect::detect, {},
                 {.data_ranks = best.plan.layout.data, .sharding = best.plan.sharding});
}

std::string svg_of(plan_study const& s) {
  if (s.answer.best.empty()) throw usage_error("no plan fits: there is nothing to draw");
  if (s.aim != plan_aim::time) return chart_of(s);
  planned_step const& best = s.answer.best[0];
  return svg_of(retime(passes_of(best), ashlar::costs_of(s.question, best.plan)), name_of(best.plan), {},
                picture_request{});
}

std::string html_of(plan_study const& s, bool explains) {
  return page_of(fmt::format("{} on {}, a batch of {}", s.model.name, s.cluster.name, s.question.batch),
                 text_of(s, explains), s.answer.best.empty() ? "" : svg_of(s));
}

}  // namespace tool

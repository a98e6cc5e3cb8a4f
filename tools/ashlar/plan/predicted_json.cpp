// Plans as JSON.
#include "plan/predicted_plan.hpp"
#include "plan/what_if.hpp"
#include "predict/best_layouts.hpp"
#include "predict/choices.hpp"
#include "predict/frameworks.hpp"
#include "predict/layout_words.hpp"
#include "predict/machines.hpp"
#include "report/printed.hpp"
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tool {

using ashlar::cost::question;

namespace {

std::vector<int> layers_of(predicted_plan const& p) {
  std::vector<int> counts;
  for (auto const& s : stages_of(p.run.asked)) counts.push_back(s.count);
  return counts;
}

nlohmann::ordered_json json_of_shares(predicted_study const& s) {
  nlohmann::ordered_json shares = nlohmann::ordered_json::array();
  for (ashlar::cost::ranked_layout const& each : s.shared.shares)
    shares.push_back({{"kind", each.asked.cluster.kinds.front().name},
                      {"sequences", each.asked.batch},
                      {"options", rank_options(each.asked)},
                      {"seconds", each.seconds},
                      {"bytes", each.peak}});
  return {{"shares", shares}, {"sum", s.shared.sum}, {"seconds", s.shared.seconds()}};
}

nlohmann::ordered_json json_of_plan(predicted_study const& s, predicted_plan const& p) {
  question const& q = p.run.asked;
  auto const& a = p.run.answer;
  auto const fullest = a.memory.begin() + a.fullest;
  nlohmann::ordered_json made{{"options", options_of(p.run)},
                              {"tensor", q.layout.tensor},
                              {"context", q.layout.context},
                              {"pipeline", q.layout.pipeline},
                              {"chunks", q.layout.chunks},
                              {"data", q.layout.data},
                              {"expert", q.layout.expert},
                              {"expert_tensor", q.layout.expert_tensor},
                              {"micro_batch", q.layout.micro_batch},
                              {"micro_batches", q.micro_batches()},
                              {"sharding", word_for(sharding_choices, q.layout.sharding)},
                              {"recomputation", recompute_word(q)},
                              {"offload", offload_word(q)},
                              {"offload_optimizer", q.layout.offload.optimizer},
                              {"precision", word_for(format_choices, q.program.format)},
                              {"schedule", schedule_word(p.run)},
                              {"layers", layers_of(p)},
                              {"layout", megatron_letters(stages_of(q))},
                              {"cluster", name_of(q.cluster)},
                              {"devices", q.cluster.device_count()},
                              {"seconds", a.step.seconds},
                              {"interval", nullptr},
                              {"division_bound", nullptr},
                              {"bytes", a.peak},
                              {"host_bytes", a.peak_on_host},
                              {"device", fullest - a.memory.begin()},
                              {"holds",
                               {{"weights_and_logits", fullest->parameters + fullest->logits
                                                           + fullest->gathered + fullest->framework},
                                {"gradients", fullest->gradients},
                                {"optimizer", fullest->optimizer},
                                {"activations", fullest->activations}}},
                              {"utilisation", p.utilisation()},
                              {"days", s.days(p)},
                              {"device_hours", s.device_hours(p)}};
  if (a.has_interval()) made["interval"] = {{"low", a.low}, {"high", a.high}};
  if (q.cluster.has_several_kinds()) {
    ashlar::placement const where = placement_of(q);
    for (int stage = 0; stage < where.stage_count(); ++stage)
      made["kinds"].push_back(kind_of_rank(q, where.device_of(0, stage)));
    made["kind"] = kind_of_rank(q, a.fullest);
    made["budget"] = a.capacity - p.run.constants.values.outside_bytes;
  }
  if (p.catalog > 0) made["seconds_in_catalog_order"] = p.catalog;
  if (p.bound > 0) made["division_bound"] = std::min(p.bound, a.step.seconds);
  for (framework const& f : frameworks()) {
    std::string const why = obstacle_of(f, p.run);
    made[f.name] = why.empty() ? configuration_of(f, p.run) : "";
    if (!why.empty()) made["obstacles"][f.name] = why;
  }
  return made;
}

}  // namespace

std::string json_of(predicted_study const& s) {
  nlohmann::ordered_json plans = nlohmann::ordered_json::array(), rejected = plans;
  for (predicted_plan const& p : s.plans) plans.push_back(json_of_plan(s, p));
  if (!s.smallest.run.answer.memory.empty()) rejected.push_back(json_of_plan(s, s.smallest));
  nlohmann::ordered_json counts;
  for (std::size_t i = 0; i < s.found.counts.size(); ++i)
    counts[std::array{"too_large", "slower", "idle_stage", "tensor_is_apart", "uneven_chunks",
                      "sharded_pipeline", "unwanted", "refused"}[i]] = s.found.counts[i];
  question const& q = s.asked.asked;
  nlohmann::ordered_json root{{"plans", plans},
                              {"rejected", rejected},
                              {"tried", s.found.tried},
                              {"left_out", counts},
                              {"not_planned", s.not_planned},
                              {"whole", s.found.is_whole},
                              {"tokens", s.tokens},
                              {"parameters", parameters(q.model)}};
  double const kept_free = s.asked.constants.values.outside_bytes;
  if (!q.cluster.has_several_kinds()) {
    root["memory_budget"] = q.cluster.device().memory_bytes - kept_free;
  } else {
    for (ashlar::cost::device_kind const& each : q.cluster.kinds)
      root["memory_budgets"][each.name] = each.device.memory_bytes - kept_free;
    if (!s.shared.shares.empty()) root["shared_batch"] = json_of_shares(s);
  }
  if (!s.what_ifs.empty()) root["what_if"] = what_if_json(s);
  return dumped(root, 1) + "\n";
}

}  // namespace tool

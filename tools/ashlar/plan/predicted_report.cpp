// Plans as text and as pictures.
#include "command.hpp"
#include "plan/predicted_plan.hpp"
#include "plan/what_if.hpp"
#include "predict/best_layouts.hpp"
#include "predict/choices.hpp"
#include "predict/frameworks.hpp"
#include "predict/layout_words.hpp"
#include "predict/machines.hpp"
#include "report/pictures.hpp"
#include "report/printed.hpp"
#include "report/table.hpp"
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/render/tradeoff.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::layout;
using ashlar::cost::question;

std::string seconds_of(double s) { return s < 1 ? fmt::format("{:.4f}", s) : fmt::format("{:.3f}", s); }

// Says what leaves of layers and of the optimizer.
std::string offload_words(question const& q) {
  std::string const parts = offload_word(q);
  return !q.layout.offload.optimizer ? parts : parts == "none" ? "optimizer" : parts + ",optimizer";
}

// "4 A100 (8), 4 H100 (24)": ranks of a pipeline and layers on each kind, along the pipeline.
std::string kinds_words(predicted_plan const& p) {
  question const& q = p.run.asked;
  ashlar::placement const where = placement_of(q);
  std::vector<ashlar::cost::stage> const stages = stages_of(q);
  std::vector<std::string> names;
  std::vector<std::pair<int, int>> counts;  // ranks, layers
  for (int rank = 0; rank < q.layout.pipeline; ++rank) {
    std::string const name = kind_of_rank(q, rank);
    if (names.empty() || names.back() != name) {
      names.push_back(name);
      counts.emplace_back(0, 0);
    }
    ++counts.back().first;
    for (int s = 0; s < where.stage_count(); ++s)
      if (where.device_of(0, s) == rank)
        counts.back().second += stages[static_cast<std::size_t>(s)].count;
  }
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i)
    all += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", counts[i].first, names[i], counts[i].second);
  return all;
}

struct column {
  char const* name;
  std::function<std::string(predicted_plan const&)> cell;
  bool is_always = true;  // else only where a plan has more than 1
};

std::vector<column> columns_of(predicted_study const& s) {
  bool const is_measured = s.asked.asked.model.has_measured_layers();
  auto const size = [](int layout::*which) {
    return [which](predicted_plan const& p) { return fmt::format("{}", p.run.asked.layout.*which); };
  };
  std::vector<column> all{
      {"step s", [](auto const& p) { return seconds_of(p.run.answer.step.seconds); }},
      {is_measured ? "busy %" : "TFLOP/s",
       [is_measured](auto const& p) {
         return is_measured ? percent(p.utilisation(), 1)
                            : fmt::format("{:.0f}", p.run.answer.flops_per_device(p.run.asked) / 1e12);
       }},
      {"bubble %",
       [](auto const& p) { return percent(p.run.answer.step.bubble / p.run.answer.step.seconds, 1); }},
      {"GiB", [](auto const& p) { return fmt::format("{:.1f}", p.run.answer.peak / (1 << 30)); }},
      {"host GiB",
       [](auto const& p) {
         double const bytes = p.run.answer.peak_on_host;
         return bytes > 0 ? fmt::format("{:.1f}", bytes / (1 << 30)) : "0";
       },
       false},
      {"devices", [](auto const& p) { return fmt::format("{}", p.run.asked.cluster.device_count()); },
       s.aim == plan_aim::cost},
      {"days", [&s](auto const& p) { return fmt::format("{:.1f}", s.days(p)); },
       s.aim != plan_aim::time},
      {"device hours", [&s](auto const& p) { return fmt::format("{:.0f}", s.device_hours(p)); },
       s.aim != plan_aim::time},
      {"tensor", size(&layout::tensor)},
      {"context", size(&layout::context), false},
      {"pipeline", size(&layout::pipeline)},
      {"chunks", size(&layout::chunks), false},
      {"data", size(&layout::data)},
      {"expert", size(&layout::expert), false},
      {"expert tensor", size(&layout::expert_tensor), false},
      {"micro-batch", size(&layout::micro_batch)},
      {"sharding",
       [](auto const& p) { return word_for(sharding_choices, p.run.asked.layout.sharding); }},
      {"recompute", [](auto const& p) { return recompute_word(p.run.asked); }},
      {"offload", [](auto const& p) { return offload_words(p.run.asked); }, false},
      {"schedule", [](auto const& p) { return schedule_word(p.run); }},
      {"layers", [](auto const& p) { return layer_counts(stages_of(p.run.asked)); }},
      {"precision", [](auto const& p) { return word_for(format_choices, p.run.asked.program.format); },
       false},
      {"kinds (layers)",
       [](auto const& p) { return p.run.asked.cluster.has_several_kinds() ? kinds_words(p) : "one"; },
       false},
      {"nearer", [](auto const& p) { return p.run.asked.layout.pipeline_inside ? "pipeline" : "data"; },
       false}};
  std::string const usual[] = {"1", "0", "bf16", "data", "none", "one"};
  bool const is_timed = s.aim == plan_aim::time, is_cost = s.aim == plan_aim::cost;
  std::vector<column> shown;
  for (column const& c : all) {
    std::string const name = c.name;
    if ((name == "devices" && !is_cost) || ((name == "days" || name == "device hours") && is_timed))
      continue;
    bool const differs = std::any_of(s.plans.begin(), s.plans.end(), [&](predicted_plan const& p) {
      return std::find(std::begin(usual), std::end(usual), c.cell(p)) == std::end(usual);
    });
    if (c.is_always || differs) shown.push_back(c);
  }
  return shown;
}

std::string table_of(predicted_study const& s) {
  std::vector<column> const columns = columns_of(s);
  std::vector<std::vector<std::string>> rows(1);
  for (column const& c : columns) rows[0].emplace_back(c.name);
  for (predicted_plan const& p : s.plans) {
    rows.emplace_back();
    for (column const& c : columns) rows.back().push_back(c.cell(p));
  }
  return table(rows);
}

// A batch that kinds share by speed, each with a layout of its own.
std::string shares_of(predicted_study const& s) {
  if (!s.asked.asked.cluster.has_several_kinds() || s.aim != plan_aim::time) return {};
  if (s.shared.shares.empty())
    return "\nPipelines of one kind each: none, because some kind cannot hold the model, or there are "
           "fewer sequences than kinds.\n";
  std::vector<std::vector<std::string>> rows{{"kind", "sequences", "seconds", "GiB", "layout"}};
  for (ashlar::cost::ranked_layout const& each : s.shared.shares)
    rows.push_back({each.asked.cluster.kinds.front().name, fmt::format("{}", each.asked.batch),
                    seconds_of(each.seconds), fmt::format("{:.1f}", each.peak / (1 << 30)),
                    rank_options(each.asked)});
  double const more = s.shared.seconds() / s.plans[0].run.answer.step.seconds - 1;
  return fmt::format(
             "\nPipelines of one kind each, which share the batch by speed: {} s, {} % {} than the "
             "first. {:.3f} s of it sum gradients over the kinds.\n",
             seconds_of(s.shared.seconds()), percent(more < 0 ? -more : more, 1),
             more < 0 ? "less" : "more", s.shared.sum)
         + table(rows);
}

std::string frameworks_of(predicted_study const& s) {
  std::string text;
  for (framework const& f : frameworks()) {
    std::string const why = obstacle_of(f, s.plans[0].run);
    if (why.empty()) {
      text += fmt::format("{} runs the first: --emit {}:FILE writes it.\n", title_of(f), f.name);
      continue;
    }
    text += fmt::format("{} does not run the first: {}; ", title_of(f), why);
    std::size_t other = 1;
    while (other < s.plans.size() && !obstacle_of(f, s.plans[other].run).empty()) ++other;
    text += other < s.plans.size()
                ? fmt::format("the best of these that it runs is number {}.\n", other + 1)
                : "it runs none of the others.\n";
  }
  return text;
}

}  // namespace

std::string text_of(predicted_study const& s, bool explains) {
  question const& q = s.asked.asked;
  std::string text =
      fmt::format("{} on {}, {} devices; sequences of {}, a batch of {}\n", s.asked.model.name,
                  name_of(q.cluster), q.cluster.device_count(), q.sequence, q.batch);
  text += words_of_counts(s.found);
  for (std::string const& each : s.not_planned) text += fmt::format("Not planned: {}.\n", each);
  if (s.needs_host) text += "Nothing fits without the memory of the hosts.\n";
  if (s.plans.empty()) {
    text += "None fits; the smallest:\n\n";
    return s.smallest.run.answer.memory.empty() ? text : text + text_of(s.smallest.run, explains);
  }
  text += "\n" + table_of(s);
  for (std::size_t i = 0; i < s.plans.size(); ++i)
    if (s.plans[i].catalog > 0)
      text += fmt::format(
          "Plan {} has an order that a search found. In the order of {} it takes {:.3f} s.\n", i + 1,
          schedule_word(s.plans[i].run), s.plans[i].catalog);
  text += shares_of(s);
  if (predicted_plan const& p = s.plans[0]; p.bound > 0) {
    double const gap = 1 - std::min(1.0, p.bound / p.run.answer.step.seconds);
    text += gap < 5e-5 ? "No other division of the first's layers takes less.\n"
                       : fmt::format("Other divisions of the first's layers take at most {} % less.\n",
                                     percent(gap, 1));
  }
  text += "\n" + frameworks_of(s);
  text += what_if_text(s);
  text += "\nThe first:\n\n" + text_of(s.plans[0].run, explains);
  return text;
}

std::string svg_of(predicted_request const& r, predicted_study const& s) {
  if (s.plans.empty()) throw usage_error("no plan fits: there is nothing to draw");
  if (s.aim == plan_aim::time) return svg_of(s.plans[0].run);
  ashlar::tradeoff_curve curve{"best plans", {}, {}, {}};
  predicted_request part = r;
  part.aim = plan_aim::time;
  part.top = 1;
  double const work =
      s.days(s.plans[0]) * s.plans[0].utilisation() * s.plans[0].run.asked.cluster.device_count();
  for (std::optional<ashlar::cost::cluster> on = s.asked.asked.cluster; on; on = half_of(*on)) {
    part.on = on;
    predicted_study const best = study_of(part);
    if (best.plans.empty()) break;
    predicted_plan const& p = best.plans[0];
    int const count = p.run.asked.cluster.device_count();
    double const days = s.days(p);
    curve.utilisation.emplace_back(1.0 * p.run.asked.batch / count, p.utilisation());
    curve.cost.emplace_back(days / work, days * count / work);
    curve.clusters.push_back(count);
  }
  std::reverse(curve.utilisation.begin(), curve.utilisation.end());
  return ashlar::svg({curve}, fmt::format("{} on up to {} devices, a batch of {}", s.asked.model.name,
                                          s.asked.asked.cluster.device_count(), s.asked.asked.batch));
}

std::string html_of(predicted_request const& r, predicted_study const& s, bool explains) {
  std::string const title = fmt::format("{} on {}, a batch of {}", s.asked.model.name,
                                        name_of(s.asked.asked.cluster), s.asked.asked.batch);
  return page_of(title, text_of(s, explains), s.plans.empty() ? "" : svg_of(r, s));
}

}  // namespace tool

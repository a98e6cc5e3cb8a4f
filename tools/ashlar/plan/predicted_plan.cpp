#include "command.hpp"
#include "files/json_files.hpp"
#include "options/number_option.hpp"
#include "plan/executed_entries.hpp"
#include "plan/executed_plans.hpp"
#include "plan/plan_certificate.hpp"
#include "predict/best_layouts.hpp"
#include "predict/embedded.hpp"
#include "predict/layout_words.hpp"
#include "predict/machines.hpp"
#include "predict/measured_layers.hpp"
#include "predict/models.hpp"
#include "predict/names.hpp"
#include "predict/question_options.hpp"
#include "predict/run_file.hpp"
#include "report/interrupt_watch.hpp"
#include <ashlar/cost/choose/improved_order.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::layout;
using ashlar::cost::layouts_found;
using ashlar::cost::open_sizes;
using ashlar::cost::question;
using ashlar::cost::ranked_layout;

// The root of a model's file, or of the program's own.
nlohmann::json model_keys(std::string const& model) {
  std::string const name = model == "8B"     ? "llama3-8b"
                           : model == "70B"  ? "llama3-70b"
                           : model == "175B" ? "gpt3-175b"
                                             : in_small_letters(model);
  for (embedded_file const& each : embedded_models())
    if (name == each.name) return nlohmann::json::parse(each.text);
  return is_path(model) ? read_python_json(model).root() : nlohmann::json::object();
}

prediction asked_of(predicted_request const& r) {
  option_words words = r.given;
  described_model model = r.model ? *r.model : read_described_model(words.at("model"));
  if (words.count("precision") == 0 && !model.precision.empty()) words["precision"] = model.precision;
  if (r.runs_in != nullptr && *r.runs_in->stack != '\0' && words.count("stack") == 0) {
    words["stack"] = r.runs_in->stack;
    words.try_emplace("fact", r.runs_in->facts);
  }
  ashlar::cost::architecture& shape = model.shape;
  if (shape.has_measured_layers()) {
    if (!r.costs.empty()) take_times(shape, r.costs);
    if (!r.causal.empty()) take_causal_shares(shape, r.causal);
    must_have_times(shape);
  }
  // Fixed sizes of the layout are left out here and set below.
  for (char const* size : {"tensor", "pipeline", "context", "data", "chunks", "expert", "expert-tensor"})
    words.erase(size);
  question_options const options = options_from(words);
  prediction p = r.cluster ? prepare(options, std::move(model), *r.cluster, own_constants())
                           : prepare(options, std::move(model), own_constants());
  add_notes(r.notes, p);
  if (r.counted) must_come_to(*r.counted, p);
  p.not_known = r.not_known;
  auto const fix = [&](char const* name, int layout::*size) {
    if (auto const at = r.given.find(name); at != r.given.end())
      p.asked.layout.*size = number_within<int>(fmt::format("--fix {}", name), at->second, 1, 1'000'000);
  };
  fix("tensor", &layout::tensor);
  fix("pipeline", &layout::pipeline);
  fix("context", &layout::context);
  fix("data", &layout::data);
  fix("chunks", &layout::chunks);
  fix("expert", &layout::expert);
  fix("expert-tensor", &layout::expert_tensor);
  for (ashlar::cost::device_kind& each : p.asked.cluster.kinds) each.device.memory_bytes *= 1 - r.margin;
  if (r.on) p.asked.cluster = *r.on;
  return p;
}

open_sizes open_of(predicted_request const& r) {
  open_sizes open = sizes_left_open(r.given);
  bool const deals = r.given.count("layout") == 0;
  open.stages = deals;
  open.parts = open.again;
  open.order = r.given.count("pipeline-inside") == 0;
  open.format = r.any_precision && r.given.count("precision") == 0;
  if (framework const* const f = r.runs_in) {
    open.stages = open.stages && f->any_division;
    open.chunks = open.chunks && f->virtual_stages;
    open.parts = open.parts && f->parts;
    open.order = open.order && f->pipeline_inside;
  }
  return open;
}

predicted_plan plan_of(prediction const& asked, ranked_layout const& layout) {
  predicted_plan made{.run = asked};
  made.run.asked = layout.asked;
  made.run.asked.layout.lanes = asked.asked.layout.lanes;
  if (!made.run.asked.layout.has_lanes()) made.bound = layout.bound;  // of passes alone
  made.run.is_chosen = true;
  settle_stages(made.run);
  made.run.recompute = recompute_word(made.run.asked);
  answer_it(made.run);
  return made;
}

// The value that a study minimises: seconds, or device seconds.
double objective_of(plan_aim aim, question const& q, double seconds) {
  return aim == plan_aim::cost ? seconds * q.cluster.device_count() : seconds;
}

double objective_of(predicted_study const& s, predicted_plan const& p) {
  return objective_of(s.aim, p.run.asked, p.run.answer.step.seconds);
}

// One cluster's answer.
void find_plans(predicted_request const& r, predicted_study& s) {
  bool has_1f1b = true, interleaves = true;
  auto entries = executed_entries(r.schedules, has_1f1b, interleaves);
  framework const* const f = r.runs_in;
  if (f != nullptr) {
    std::erase_if(entries, [&](auto const* e) { return !has_schedule(*f, e->name); });
    interleaves = interleaves && has_schedule(*f, "interleaved");
    if (!has_1f1b && !interleaves && entries.empty())
      throw usage_error(fmt::format("{} has none of these schedules", title_of(*f)));
  }
  std::string first_obstacle;
  auto const is_run = [&](question const& q) {
    if (r.tried != nullptr) r.tried->note(q, s.asked.constants.values);
    if (f == nullptr) return true;
    std::string const why = obstacle_of_layout(*f, q, schedule_word(q));
    if (first_obstacle.empty()) first_obstacle = why;
    return why.empty();
  };
  open_sizes open = open_of(r);
  open.pairs = any_has_pairs(entries);
  if (!interleaves && r.given.count("chunks") == 0) {
    open.chunks = false;
    s.asked.asked.layout.chunks = 1;
  }
  std::size_t const most = std::max<std::size_t>(r.top, executed_layouts);
  bool const may_leave = knows_hosts(s.asked.asked.cluster) && r.given.count("offload-activations") == 0
                         && r.given.count("offload-optimizer") == 0;
  open.leaves = may_leave && r.offloads;
  prediction by_formulas = s.asked;  // the best of which are simulated
  by_formulas.asked.layout.lanes.reset();
  s.found = search_layouts(by_formulas, open, most, is_run);
  if (s.found.tried == 0)
    throw usage_error(fmt::format("{} runs no layout of this: {}", title_of(*f), first_obstacle));
  if (s.found.best.empty() && s.found.is_whole && may_leave && !open.leaves) {
    open.leaves = true;
    layouts_found with_host = search_layouts(by_formulas, open, most, is_run);
    s.needs_host = !with_host.best.empty();
    s.found = std::move(with_host);
  }
  for (ranked_layout const& each : s.found.best) s.plans.push_back(plan_of(s.asked, each));
  auto const may_be_shown = [&](predicted_plan const& p) {
    question const& q = p.run.asked;
    bool const is_named = q.layout.pipeline == 1 || !q.layout.is_usual()
                          || (q.layout.chunks == 1 ? has_1f1b : interleaves);
    return is_named && (f == nullptr || obstacle_of(*f, p.run).empty());
  };
  if (!entries.empty() && s.found.is_whole) {
    std::vector<predicted_plan> for_pairs;
    for (ranked_layout const& each : s.found.for_pairs) for_pairs.push_back(plan_of(s.asked, each));
    // Schedules that are named are all executed, for the reasons why some are not planned.
    shown_plans const shown{
        .most = r.top,
        .objective = [&](question const& q, double seconds) { return objective_of(s.aim, q, seconds); },
        .may_be_shown = may_be_shown};
    std::vector<std::string> left_out =
        add_executed(s.plans, for_pairs, entries, open.again, r.schedules.empty() ? &shown : nullptr);
    if (!r.schedules.empty()) s.not_planned = std::move(left_out);
  }
  std::erase_if(s.plans, [&](predicted_plan const& p) { return !may_be_shown(p); });
  for (ranked_layout const& each : s.found.smallest) s.smallest = plan_of(s.asked, each);
}

// Takes a better order of the plan's passes, if a search finds one.
void improve(predicted_plan& plan, std::int64_t passes) {
  double const seconds = plan.run.answer.step.seconds;
  for (question const& better :
       improved_order(plan.run.asked, plan.run.constants.values, seconds, passes)) {
    plan.catalog = seconds;
    plan.run.asked = better;
    settle_stages(plan.run);
    answer_it(plan.run);
  }
}

}  // namespace

std::optional<ashlar::cost::cluster> half_of(ashlar::cost::cluster const& c) {
  ashlar::cost::cluster half = c;
  for (ashlar::cost::device_kind& each : half.kinds)
    each.devices = each.devices / each.device.per_node / 2 * each.device.per_node;
  std::erase_if(half.kinds, [](ashlar::cost::device_kind const& each) { return each.devices == 0; });
  if (half.kinds.empty()) return {};
  return half;
}

bool has_measured_layers(std::string const& model) { return model_keys(model).contains("measured"); }

int own_sequence(std::string const& model) {
  nlohmann::json const keys = model_keys(model);
  for (char const* key : {"sequence", "max_position_embeddings", "n_positions"})
    if (auto const at = keys.find(key);
        at != keys.end() && at->is_number_unsigned() && *at <= 10'000'000)
      return at->get<int>();
  return 0;
}

predicted_study study_of(predicted_request const& r) {
  predicted_study s;
  s.aim = r.aim;
  s.asked = asked_of(r);
  if (r.runs_in != nullptr)
    if (std::string const why = obstacle_of_model(*r.runs_in, s.asked); !why.empty())
      throw usage_error(fmt::format("{} does not run this model: {}", title_of(*r.runs_in), why));
  s.tokens = r.tokens > 0 ? r.tokens : 20 * parameters(s.asked.asked.model);
  find_plans(r, s);
  if (r.shares_batch && s.asked.asked.cluster.has_several_kinds() && r.aim == plan_aim::time
      && s.found.is_whole && !s.asked.asked.layout.lanes) {
    interrupt_watch const watch;
    s.shared = share_batch(s.asked.asked, open_of(r), s.asked.constants.values,
                           [](layouts_found const&) { return !interrupt_watch::has_come(); });
  }
  // Halves the cluster to make device hours the fewest.
  for (auto on = half_of(s.asked.asked.cluster); r.aim == plan_aim::cost && on; on = half_of(*on)) {
    predicted_study part = s;
    part.plans.clear();
    part.asked.asked.cluster = *on;
    find_plans(r, part);
    if (part.plans.empty()) break;
    for (predicted_plan& each : part.plans) s.plans.push_back(std::move(each));
  }
  std::stable_sort(s.plans.begin(), s.plans.end(), [&](auto const& a, auto const& b) {
    return objective_of(s, a) < objective_of(s, b);
  });
  if (s.plans.size() > r.top) s.plans.resize(r.top);
  for (predicted_plan& each : s.plans) improve(each, r.search);
  std::stable_sort(s.plans.begin(), s.plans.end(), [&](auto const& a, auto const& b) {
    return objective_of(s, a) < objective_of(s, b);
  });
  return s;
}

double predicted_plan::utilisation() const {
  if (run.asked.model.has_measured_layers()) return run.answer.step.passes / run.answer.step.seconds;
  return run.answer.flops_per_device(run.asked) / mean_peak(run.asked.cluster, run.asked.program.format);
}

double predicted_study::days(predicted_plan const& p) const {
  question const& q = p.run.asked;
  return tokens / (1.0 * q.batch * q.sequence) * p.run.answer.step.seconds / 86400;
}

double predicted_study::device_hours(predicted_plan const& p) const {
  return days(p) * 24 * p.run.asked.cluster.device_count();
}

}  // namespace tool

#include "plan/predicted_plan.hpp"

#include "command.hpp"
#include "files/json_object.hpp"
#include "options/number_option.hpp"
#include "plan/executed_plans.hpp"
#include "predict/best_layouts.hpp"
#include "predict/embedded.hpp"
#include "predict/layout_words.hpp"
#include "predict/module_file.hpp"
#include "predict/names.hpp"
#include "predict/question_options.hpp"

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

// A model of the keys that only `ashlar plan` has, as general ones.
described_model own_keys(std::string const& path, std::string& precision) {
  json_object file(path);
  nlohmann::json keys{{"num_hidden_layers", file.number("layers", 1, 1000)},
                      {"hidden_size", file.real("hidden", 1)},
                      {"num_attention_heads", file.real("heads", 1)},
                      {"vocab_size", file.real("vocabulary", 1)},
                      {"hidden_act", file.flag("gated", false) ? "silu" : "gelu"},
                      {"tie_word_embeddings", file.flag("tied", false)}};
  file.real("sequence", 1);
  double const hidden = keys["hidden_size"], heads = keys["num_attention_heads"];
  keys["intermediate_size"] = file.real("feed_forward", 1, 4 * hidden);
  keys["num_key_value_heads"] = file.real("key_value_heads", 1, heads);
  if (double const experts = file.real("experts", 1, 0); experts > 0) keys["num_experts"] = experts;
  double const chosen = file.real("experts_per_token", 1, 1);
  if (keys.contains("num_experts")) keys["num_experts_per_tok"] = chosen;
  precision = file.word("precision", "bf16");
  if (precision != "bf16" && precision != "fp16" && precision != "fp32")
    file.fail(fmt::format("must give bf16, fp16 or fp32 for \"precision\", not \"{}\"",
                          precision.substr(0, 64)));
  file.must_be_all();
  return described_keys(keys, path);
}

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

bool has_own_keys(std::string const& model) {
  nlohmann::json const keys = model_keys(model);
  return keys.contains("layers") && !is_module_file(keys);
}

prediction asked_of(predicted_request const& r) {
  option_words words = r.given;
  std::string const model = words.at("model");
  std::optional<described_model> own;
  if (has_own_keys(model)) {
    std::string precision;
    own = own_keys(model, precision);
    if (words.count("precision") == 0) words["precision"] = precision;
    words["model"] = "-";
  }
  // Fixed sizes of the layout are left out here and set below.
  for (char const* size : {"tensor", "pipeline", "context", "data", "chunks", "expert", "expert-tensor"})
    words.erase(size);
  question_options const options = options_from(words);
  prediction p = own ? prepare(options, *own, own_constants()) : prepare(options, own_constants());
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
  p.asked.cluster.device.memory_bytes *= 1 - r.margin;
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
  predicted_plan made{.run = asked, .bound = layout.bound};
  made.run.asked = layout.asked;
  made.run.is_chosen = true;
  settle_stages(made.run);
  made.run.recompute = recompute_word(made.run.asked);
  answer_it(made.run);
  return made;
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
  bool const may_leave = s.asked.asked.cluster.device.host.is_known()
                         && r.given.count("offload-activations") == 0
                         && r.given.count("offload-optimizer") == 0;
  open.leaves = may_leave && r.offloads;
  s.found = search_layouts(s.asked, open, most, is_run);
  if (s.found.tried == 0)
    throw usage_error(fmt::format("{} runs no layout of this: {}", title_of(*f), first_obstacle));
  if (s.found.best.empty() && s.found.is_whole && may_leave && !open.leaves) {
    open.leaves = true;
    layouts_found with_host = search_layouts(s.asked, open, most, is_run);
    s.needs_host = !with_host.best.empty();
    s.found = std::move(with_host);
  }
  for (ranked_layout const& each : s.found.best) s.plans.push_back(plan_of(s.asked, each));
  if (!entries.empty() && s.found.is_whole) {
    std::vector<predicted_plan> for_pairs;
    for (ranked_layout const& each : s.found.for_pairs) for_pairs.push_back(plan_of(s.asked, each));
    std::vector<std::string> left_out = add_executed(s.plans, for_pairs, entries, open.again);
    if (!r.schedules.empty()) s.not_planned = std::move(left_out);
  }
  std::erase_if(s.plans, [&](predicted_plan const& p) {
    question const& q = p.run.asked;
    bool const is_named = q.layout.pipeline == 1 || q.layout.is_executed()
                          || (q.layout.chunks == 1 ? has_1f1b : interleaves);
    return !is_named || (f != nullptr && !obstacle_of(*f, p.run).empty());
  });
  for (ranked_layout const& each : s.found.smallest) s.smallest = plan_of(s.asked, each);
}

// The value that the study minimises: seconds, or device seconds.
double objective_of(predicted_study const& s, predicted_plan const& p) {
  double const seconds = p.run.answer.step.seconds;
  return s.aim == plan_aim::cost ? seconds * p.run.asked.cluster.devices : seconds;
}

}  // namespace

bool has_formulas(std::string const& model, std::string const& cluster) {
  if (model_keys(model).contains("measured")) return false;
  if (cluster.find('+') != std::string::npos) return false;
  if (!is_path(cluster)) return true;
  nlohmann::json const root = read_json_text(cluster).root();
  return !root.contains("kinds") && !root.contains("flops");
}

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
  // Halves the cluster to make device hours the fewest.
  for (int nodes = s.asked.nodes / 2; r.aim == plan_aim::cost && nodes > 0; nodes /= 2) {
    predicted_study part = s;
    part.plans.clear();
    part.asked.nodes = nodes;
    part.asked.asked.cluster.devices = nodes * s.asked.asked.cluster.device.per_node;
    find_plans(r, part);
    if (part.plans.empty()) break;
    for (predicted_plan& each : part.plans) s.plans.push_back(std::move(each));
  }
  std::stable_sort(s.plans.begin(), s.plans.end(), [&](auto const& a, auto const& b) {
    return objective_of(s, a) < objective_of(s, b);
  });
  if (s.plans.size() > r.top) s.plans.resize(r.top);
  return s;
}

double predicted_study::days(predicted_plan const& p) const {
  question const& q = p.run.asked;
  return tokens / (1.0 * q.batch * q.sequence) * p.run.answer.step.seconds / 86400;
}

double predicted_study::device_hours(predicted_plan const& p) const {
  return days(p) * 24 * p.run.asked.cluster.devices;
}

}  // namespace tool

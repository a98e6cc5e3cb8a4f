// `ashlar plan`: from options to the files that it writes.
#include "command.hpp"
#include "commands/plan_options.hpp"
#include "files/data_formats.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/lowering_options.hpp"
#include "plan/plan_certificate.hpp"
#include "plan/predicted_plan.hpp"
#include "plan/what_if.hpp"
#include "predict/choices.hpp"
#include "predict/frameworks.hpp"
#include "predict/machines.hpp"
#include "predict/names.hpp"
#include "predict/run_file.hpp"
#include "report/printed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

namespace {

constexpr std::array fixable{"tensor",
                             "pipeline",
                             "context",
                             "data",
                             "chunks",
                             "expert",
                             "expert-tensor",
                             "micro-batch",
                             "sharding",
                             "recompute",
                             "precision",
                             "layout",
                             "pipeline-inside",
                             "offload-activations",
                             "offload-optimizer",
                             "stack",
                             "attention",
                             "sequence-parallel",
                             "dispatch-fp8"};

// Reads tensor=8,layout=7,8x14,7,pipeline=16 as options: a value without a name continues the list
// before it.
void read_fixed(std::string_view fixed, option_words& words) {
  std::string* list = nullptr;
  std::vector<std::string> named;
  while (!fixed.empty()) {
    auto const comma = std::min(fixed.find(','), fixed.size());
    std::string_view const one = fixed.substr(0, comma);
    fixed.remove_prefix(std::min(comma + 1, fixed.size()));
    auto const equals = one.find('=');
    if (equals == std::string_view::npos && list != nullptr) {
      *list += "," + std::string(one);
      continue;
    }
    std::string const name(one.substr(0, std::min(equals, one.size())));
    if (std::find(fixable.begin(), fixable.end(), name) == fixable.end()
        || equals == std::string_view::npos)
      throw usage_error(fmt::format("--fix takes NAME=VALUE with commas between, of {}; not '{}'",
                                    fmt::join(fixable, ", "), one.substr(0, 64)));
    if (std::find(named.begin(), named.end(), name) != named.end())
      throw usage_error(fmt::format("--fix gives {} twice", name));
    named.push_back(name);
    words[name] = one.substr(equals + 1);
    bool const takes_list = name == "layout" || name == "recompute" || name == "offload-activations";
    list = takes_list ? &words[name] : nullptr;
  }
}

// Takes what the options leave out from the run's file.
void read_run_for_plan(plan_options const& o, predicted_request& r) {
  json_text const text = read_run_text(o.run);
  std::optional<ashlar::cost::cluster> const own =
      o.cluster.empty() ? cluster_of_run(text) : read_cluster(o.cluster);
  if (!own) throw usage_error("--cluster is required: the file does not say it");
  r.cluster = own;
  if (!o.model.empty()) r.model = read_described_model(o.model);
  framework_run run = read_run(text, {{}, r.model ? &*r.model : nullptr, own->device_count()});
  if (!r.model && run.options.count("model") > 0)
    r.model = read_described_model(run.options["model"]);
  else
    r.model = run.model;
  auto const keep = [&](auto const& options) {
    for (std::string_view const name : options)
      if (auto const at = run.options.find(std::string(name));
          name != "micro-batch" && at != run.options.end())
        r.given.insert(*at);
  };
  keep(options_of_batch);
  keep(options_of_program);
  r.notes = run.notes;
  if (o.model.empty()) r.counted = run.counted;
  r.not_known = run.not_known;
}

predicted_request request_of(plan_options const& o) {
  predicted_request r;
  if (!o.run.empty()) read_run_for_plan(o, r);
  auto const say = [&](char const* name, std::string const& value) {
    if (!value.empty()) r.given[name] = value;
    if (r.given.count(name) == 0)
      throw usage_error(
          fmt::format("--{} is required{}", name, o.run.empty() ? "" : ": the file does not say it"));
  };
  auto const number = [](int n) { return n > 0 ? fmt::format("{}", n) : std::string(); };
  say("model", r.model ? "-" : o.model);
  say("cluster", r.cluster ? "-" : o.cluster);
  say("batch", number(o.batch));
  int const sequence =
      o.sequence > 0 || r.given.count("sequence") > 0 ? o.sequence : own_sequence(o.model);
  say("sequence", number(sequence));
  if (o.attention == "scores") r.given["attention"] = "unfused";
  if (o.lanes) r.given["lanes"] = word_for(lane_choices, *o.lanes);
  read_fixed(o.fixed, r.given);
  r.top = static_cast<std::size_t>(o.top);
  r.margin = o.margin / 100;
  r.aim = o.objective == "cost"   ? plan_aim::cost
          : o.objective == "days" ? plan_aim::days
                                  : plan_aim::time;
  r.tokens = 1e9 * o.tokens;
  r.schedules = o.schedules;
  r.costs = o.costs;
  r.causal = o.causal;
  r.search = static_cast<std::int64_t>(o.search * 1e6);
  r.any_precision = o.any_precision;
  r.offloads = o.offloads;
  for (framework const& f : frameworks())
    if (o.runs_in == f.name) r.runs_in = &f;
  return r;
}

}  // namespace

namespace {

// A file of --emit: of a framework, FRAMEWORK:FILE, or of the schedule.
struct emitted_file {
  framework const* of = nullptr;
  std::string path;
  output to;
};

// The framework before the colon of --emit.
framework const& framework_named(std::string const& name) {
  std::vector<std::string> known;
  for (framework const& f : frameworks()) {
    if (name == f.name) return f;
    known.emplace_back(f.name);
  }
  throw usage_error(
      fmt::format("--emit: no framework '{}' is known{}; there are {} (a file whose name has a colon "
                  "is ./NAME)",
                  name.substr(0, 64), did_you_mean(name, known), fmt::join(known, ", ")));
}

// Writes the first plan as the framework has it; if that does not run it, the fastest plan that it does
// run, and says so. Returns false if there is none.
bool write_configuration(emitted_file const& file, predicted_request r, predicted_study const& s) {
  framework const& f = *file.of;
  predicted_plan const& first = s.plans[0];
  std::string const why = obstacle_of(f, first.run);
  if (why.empty()) {
    file.to.write(configuration_of(f, first.run));
    return true;
  }
  r.runs_in = &f;
  r.top = 1;
  std::string none = "nothing that it runs fits";
  try {
    predicted_study const own = study_of(r);
    if (!own.plans.empty()) {
      prediction const& run = own.plans[0].run;
      file.to.write(configuration_of(f, run));
      fmt::print(stderr,
                 "{}: {} does not run the first plan: {}; this is the fastest that it runs, {:.3f} s "
                 "({:+.1f} %): {}\n",
                 printable(file.path), title_of(f), why, run.answer.step.seconds,
                 100 * (run.answer.step.seconds / first.run.answer.step.seconds - 1), options_of(run));
      return true;
    }
  } catch (usage_error const& e) {
    none = e.what();
  }
  fmt::print(stderr, "{} is not written: {} does not run the first plan: {}; it runs no other: {}\n",
             printable(file.path), title_of(f), why, printable(none));
  return false;
}

std::vector<emitted_file> emitted_files(std::vector<std::string> const& all) {
  std::vector<emitted_file> files;
  for (std::string const& each : all) {
    std::size_t const colon = each.find(':');
    bool const is_path = colon == std::string::npos || each.find('/') < colon;
    framework const* const of = is_path ? nullptr : &framework_named(each.substr(0, colon));
    std::string const path = is_path ? each : each.substr(colon + 1);
    if (path.empty()) throw usage_error(fmt::format("--emit '{}' names no file", each.substr(0, 64)));
    files.push_back({of, path, output(path)});
  }
  return files;
}

bool is_json(std::string const& path) { return std::filesystem::path(path).extension() == ".json"; }

}  // namespace

int run_plan(CLI::App const& command, plan_options const& o) {
  bool const is_measured = has_measured_layers(o.model);
  must_have_effect(
      command,
      {{"--tokens", o.objective != "time" || o.format == "json", "without --objective cost or days"},
       {"--explain", o.format == "text" || o.format == "html",
        fmt::format("with --as {}: it is for text and html", o.format)},
       {"--why", o.objective != "cost" && o.format != "svg",
        "with --objective cost or --as svg: it is about one cluster's first plan, in words"},
       {"--explain-against", o.format == "text", fmt::format("with --as {}: it is for text", o.format)},
       {"--costs", is_measured, "on a model of formulas: it is for layers whose times were measured"},
       {"--causal", is_measured, "on a model of formulas: they say what attention takes"},
       {"--sequence", !is_measured, "on measured layers: their times are of sequences of their own"},
       {"--attention", !is_measured, "on measured layers: they keep what their file says"}});
  output const to(o.output);
  std::vector<emitted_file> const files = emitted_files(o.emitted);
  std::optional<output> const program =
      o.program.empty() ? std::nullopt : std::optional<output>(o.program);
  certificates proofs(o.certificate);
  predicted_request r = request_of(o);
  noted_layouts tried;
  if (!o.certificate.empty()) r.tried = &tried;
  predicted_study s = study_of(r);
  r.tried = nullptr;
  if (o.asks_why && !s.plans.empty() && s.found.is_whole) s.what_ifs = what_ifs_of(r, s);
  std::string const compared = o.against.empty() ? "" : comparison_with(o.against, r, s);
  to.write(o.format == "json"   ? json_of(s)
           : o.format == "svg"  ? svg_of(r, s)
           : o.format == "html" ? html_of(r, s, o.explains)
                                : printable_lines(text_of(s, o.explains) + compared));
  if (s.plans.empty()) {
    if (!o.certificate.empty()) certify_none(proofs, s, tried);
    proofs.write();
    return invalid;
  }
  bool all_written = true;
  for (emitted_file const& each : files) {
    prediction const& first = s.plans[0].run;
    if (each.of == nullptr)
      each.to.write(data_of(schedule_of(first), options_of(first),
                            is_json(each.path) ? "json" : "pytorch", ashlar::csv_dialect::i_b,
                            {.ticks_per_unit = 1'000'000, .unit = "ms"}));
    else
      all_written = write_configuration(each, r, s) && all_written;
  }
  if (program) {
    ashlar::cost::question const& q = s.plans[0].run.asked;
    ashlar::lower_options how;
    how.data_ranks = q.layout.data;
    if (q.layout.lanes) how.lanes = *q.layout.lanes;
    using enum ashlar::sharding_level;
    constexpr ashlar::sharding_level levels[] = {none, optimizer, gradients, full};
    how.sharding = levels[static_cast<std::size_t>(q.layout.sharding)];
    program->write(data_of(schedule_of(s.plans[0].run), options_of(s.plans[0].run), "pytorch-comms",
                           ashlar::csv_dialect::detect, {}, how));
  }
  if (!o.certificate.empty()) certify(proofs, r, s, tried);
  int const code = proofs.write();
  return all_written ? code : invalid;
}

}  // namespace tool

// ashlar plan: the division of a training over a cluster that makes the shortest step.
#include "command.hpp"
#include "commands/plan_options.hpp"
#include "files/data_formats.hpp"
#include "files/files.hpp"
#include "options/cost_options.hpp"
#include "options/effects.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "options/shape_options.hpp"
#include "plan/plan_files.hpp"
#include "plan/plan_report.hpp"
#include "plan/predicted_plan.hpp"
#include "predict/frameworks.hpp"
#include "report/printed.hpp"
#include "report/terminal.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

namespace {

constexpr char const* weighed_schedules = "1f1b,depth-first,zb-h1,v-half,seq1f1b";

constexpr char const* planned_names[] = {"1f1b",   "depth-first", "breadth-first", "zb-h1", "zb-h2",
                                         "v-half", "v-min",       "v-zb",          "gpipe", "seq1f1b"};

ashlar::catalog::entry const* planned_entry(std::string_view name) {
  std::string known;
  for (char const* each : planned_names) {
    if (name == each) return ashlar::catalog::find(name);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each);
  }
  throw usage_error(fmt::format("--schedules takes {}, not '{}'", known, name.substr(0, 64)));
}

plan_study study_of(plan_options const& o) {
  plan_study s;
  s.model = read_model(o.model, o.sequence, o.costs);
  s.cluster = read_cluster(o.cluster);
  s.aim = o.objective == "cost"   ? plan_aim::cost
          : o.objective == "days" ? plan_aim::days
                                  : plan_aim::time;
  // The default is the number of tokens that is best for the arithmetic that they take (Hoffmann et al.,
  // 2022).
  s.tokens = o.tokens > 0 ? 1e9 * o.tokens : 20 * s.model.parameters();
  s.question.model = s.model.model;
  s.question.lists = s.model.lists;
  s.question.between_kinds = s.cluster.between_kinds;
  s.question.kinds.clear();
  for (named_kind const& each : s.cluster.kinds) {
    s.question.kinds.push_back(each.kind);
    if (s.model.precision == "bf16" && s.model.lists.empty() && !each.has_bf16)
      throw usage_error(fmt::format(
          "{} has no products in bf16, which the model is of; its file may give \"precision\": \"fp16\"",
          each.name));
    if (s.model.precision != "fp32") continue;
    if (!(each.wide_flops > 0))
      throw usage_error(fmt::format("{} gives no \"flops_fp32\"{}, and the model is of fp32",
                                    o.cluster.substr(0, 64),
                                    each.name.empty() ? "" : " of " + each.name));
    s.question.kinds.back().machine.flops = each.wide_flops;
  }
  if (!s.model.lists.empty() && s.cluster.kinds.size() > 1)
    throw usage_error(
        "measured layers are those of one kind of device: a cluster of several is planned only for "
        "models of formulas");
  for (ashlar::listed_model& each : s.question.lists) each.causal = causal_share_of(o.causal);
  s.question.widths = s.model.widths;
  if (o.attention == "scores") {
    if (!s.model.lists.empty())
      throw usage_error("--attention does not go with measured layers: they keep what their file says");
    s.question.widths.scores = ashlar::kept_widths{}.of_values(s.model.model.value_bytes).scores;
  }
  s.question.batch = o.batch;
  s.question.margin = o.margin / 100;
  if (s.aim == plan_aim::cost) {
    s.question.objective = ashlar::plan_objective::device_time;
    s.question.takes_fewer_devices = true;
  }
  s.entries =
      read_list("--schedules", o.schedules.empty() ? weighed_schedules : o.schedules, planned_entry);
  return s;
}

// Answers the question, and looks for better orders of the best plans.
void answer(plan_study& s, plan_options const& o) {
  phase_line line;
  s.answer = ashlar::answer(
      s.question, s.entries, static_cast<std::size_t>(o.top),
      [&](ashlar::plan_phase phase, std::size_t done_so_far, std::size_t of) {
        if (phase == ashlar::plan_phase::checking && done_so_far % 64 != 0) return;
        line.say(fmt::format("{} {} of {} plans",
                             phase == ashlar::plan_phase::checking ? "checked" : "simulated at most",
                             done_so_far, of)
                     .c_str());
      });
  std::vector<ashlar::planned_step>& best = s.answer.best;
  for (std::size_t i = 0; i < best.size(); ++i) {
    line.say(fmt::format("searching for a better order of plan {} of {}", i + 1, best.size()).c_str());
    improve_step(s.question, best[i], static_cast<std::int64_t>(o.search * 1e6));
  }
  std::stable_sort(best.begin(), best.end(), [&](auto const& a, auto const& b) {
    return objective_of(s.question, a.plan, a.seconds) < objective_of(s.question, b.plan, b.seconds);
  });
  if (s.has_kinds() && s.aim == plan_aim::time) {
    line.say("sharing the batch by speed");
    s.shared = share_batch(s.question, s.entries, [](ashlar::plan_phase, std::size_t, std::size_t) {});
    for (ashlar::kind_share& each : s.shared.shares)
      improve_step(s.question, each.step, static_cast<std::int64_t>(o.search * 1e6));
  }
  line.say("asking what would change it");
}

int plan(CLI::App const& command, plan_options const& o) {
  must_have_effect(command, {{"--tokens", o.objective != "time" || o.format == "json",
                              "without --objective cost or days"},
                             {"--explain", o.format == "text" || o.format == "html",
                              fmt::format("with --as {}: it is for text and html", o.format)},
                             {"--explain-against", o.format == "text",
                              fmt::format("with --as {}: it is for text", o.format)}});
  if (has_formulas(o.model, o.cluster)) return plan_by_formulas(command, o);
  for (char const* each : {"--fix", "--explain-against", "--any-precision", "--offload", "--for"})
    must_have_effect(command,
                     {{each, false,
                       "on measured layers, several kinds of devices, or a cluster of figures of "
                       "its own"}});
  output const to(o.output);
  std::vector<emitted_file> const files = emitted_files(o.emitted);
  for (emitted_file const& each : files)
    if (each.of != nullptr)
      throw usage_error(fmt::format(
          "--emit {}:FILE is for models and devices that `ashlar predict` knows", each.of->name));
  std::optional<output> const program =
      o.program.empty() ? std::nullopt : std::optional<output>(o.program);
  plan_study s = study_of(o);
  bool const cuts_sequences = std::any_of(s.entries.begin(), s.entries.end(), [](auto const* e) {
    return e->uses(ashlar::parameter::sequence_chunk_count);
  });
  must_have_effect(
      command,
      {{"--causal", !s.model.lists.empty(), "on a model of formulas: they say what attention takes"},
       {"--causal", cuts_sequences,
        fmt::format("on schedules {}: sequences are whole there", o.schedules.substr(0, 64))}});
  answer(s, o);
  if (s.answer.best.empty() && s.answer.rejected.empty())
    throw usage_error(fmt::format(
        "no division of {} devices suits this model and a batch of {}: data ranks must divide the batch",
        s.cluster.device_count(), o.batch));
  if (!s.answer.best.empty())
    for (emitted_file const& each : files) each.to.write(schedule_of(s, is_json(each.path)));
  to.write(o.format == "json"   ? json_of(s)
           : o.format == "svg"  ? svg_of(s)
           : o.format == "html" ? html_of(s, o.explains)
                                : printable_lines(text_of(s, o.explains)));
  if (program && !s.answer.best.empty()) program->write(program_of(s));
  return s.answer.best.empty() ? invalid : done;
}

}  // namespace

void add_plan(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("plan", "Find the fastest way to divide a training run over a cluster");
  auto const o = std::make_shared<plan_options>();
  command
      ->add_option(
          "--model", o->model,
          "a name that `ashlar predict` knows, or a file: a Hugging Face config.json or an object "
          "of its own (docs/formats.md)")
      ->required()
      ->type_name("MODEL");
  command
      ->add_option("--cluster", o->cluster,
                   "NODESxDEVICESxKIND or DEVICESxKIND, as in 4x8xH100; kinds are those of `ashlar "
                   "predict`, several with + between; or a file (docs/formats.md)")
      ->required()
      ->type_name("CLUSTER");
  command
      ->add_option(
          "--costs", o->costs,
          "of measured layers: costs that `ashlar profile` has measured, or a trace of PyTorch's "
          "profiler, with each layer as a stage and one sequence a micro-batch; in place of the "
          "times in --model")
      ->type_name("FILE");
  add_number(*command, "--batch", o->batch, 1, 1'000'000, "sequences of a step")->required();
  add_number(*command, "--sequence", o->sequence, 1, 10'000'000,
             "tokens of a sequence; the model's own if not given");
  add_number(
      *command, "--memory-margin", o->margin, 0, 99,
      "percent of each device's memory to leave free; if not given, what `ashlar predict` leaves, "
      "and 10 % where it has no formulas")
      ->default_str("");
  add_number(*command, "--top", o->top, 1, 1000, "how many plans to show");
  command
      ->add_option(
          "--objective", o->objective,
          "time: the shortest step; cost: the fewest device hours, on as much of the cluster as "
          "that takes; days: the shortest step, with days and device hours of a training run")
      ->check(CLI::IsMember({"time", "cost", "days"}))
      ->type_name("WHAT")
      ->capture_default_str();
  add_number(*command, "--tokens", o->tokens, 0.001, 1e9,
             "billions of tokens of a training run; 20 per parameter if not given");
  add_number(
      *command, "--search", o->search, 0, 10'000,
      "of measured layers and several kinds of devices: millions of passes to dispatch in search of a "
      "better order of each plan shown; 0: none");
  command
      ->add_option(
          "--schedules", o->schedules,
          "names of schedules to consider, with commas between; if not given, all of the catalog on "
          "the best layouts, and 1f1b,depth-first,zb-h1,v-half,seq1f1b where there are no formulas")
      ->type_name("NAMES");
  command
      ->add_option("--fix", o->fixed,
                   "a part of the space: NAME=VALUE with commas between, names as options of `ashlar "
                   "predict`, tensor=8,pipeline=16,layout=7,8x14,7")
      ->type_name("SIZES");
  std::vector<std::string> names;
  for (framework const& f : frameworks()) names.emplace_back(f.name);
  command->add_option("--for", o->runs_in, "only what this framework runs")
      ->check(CLI::IsMember(names))
      ->type_name("FRAMEWORK");
  command->add_flag("--any-precision", o->any_precision,
                    "also try the narrower formats that the devices have products of");
  command->add_flag("--offload", o->offloads,
                    "what does not fit may also send activations and the optimizer to the hosts; if not "
                    "given, that is tried only where nothing else fits");
  command
      ->add_option("--explain-against", o->against,
                   "term by term, why a run of your own takes longer than the first plan: options of "
                   "`ashlar predict`, or a file of Megatron-LM, torchtitan or DeepSpeed")
      ->type_name("FILE|ARGS");
  command->add_flag("--explain", o->explains, "also show each term of the first plan's time and memory");
  command
      ->add_option("--attention", o->attention,
                   "flash: scores are not kept; scores: they are kept, and may be recomputed alone")
      ->check(CLI::IsMember({"flash", "scores"}))
      ->type_name("KERNEL")
      ->capture_default_str();
  add_numbers(
      *command, "--causal", o->causal, 0, 100,
      "of measured layers: percent of a forward and of an input pass that is causal attention, one "
      "number or two; later sequence chunks take longer (default: 0)")
      ->type_name("PERCENT");
  command
      ->add_option(
          "--emit", o->emitted,
          "also write the first plan's schedule: as JSON if FILE ends in .json, else as "
          "PyTorch CSV. FRAMEWORK:FILE: a configuration of megatron, megatron-bridge, torchtitan "
          "or deepspeed, of the first plan, or the fastest that it runs")
      ->type_name("FILE")
      ->take_all();
  command
      ->add_option("--emit-program", o->program,
                   "also write the first plan's program as PyTorch CSV: its passes with transfers, and "
                   "the reductions and gathers of its data ranks")
      ->type_name("FILE");
  add_format_option(*command, o->format, {"text", "json", "svg", "html"},
                    "text; json; svg: the first plan's schedule, or cost over time where --objective is "
                    "not time; html: a page with both");
  add_output_option(*command, o->output);
  command->footer(
      "Ctrl-C ends the search with what was found so far.\n"
      "docs/planning.md says what is measured, fitted and assumed.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return plan(*command, *o); }; });
}

}  // namespace tool

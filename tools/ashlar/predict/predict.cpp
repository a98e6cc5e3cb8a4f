// ashlar predict: the time and memory of a given run, and whether it fits.
#include "command.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "predict/best_layouts.hpp"
#include "predict/calibration.hpp"
#include "predict/facts_choice.hpp"
#include "predict/framework_files.hpp"
#include "predict/machines.hpp"
#include "predict/question_options.hpp"
#include "predict/run_file.hpp"
#include "report/printed.hpp"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

namespace tool {

namespace {

struct predict_options {
  question_options run;
  std::string megatron, torchtitan, deepspeed, file;
  std::string constants, runs;
  bool explains = false;
  int best = 0;  // layouts to be shown; 0: the one that is asked for
  std::string format = "text", output = "-";
};

// Takes the run from a file; the command line overrules it.
prediction prepare_run(CLI::App const& command, predict_options const& o, fitted_constants const& c) {
  int const files = !o.megatron.empty() + !o.torchtitan.empty() + !o.deepspeed.empty() + !o.file.empty();
  if (files > 1) throw usage_error("--megatron, --torchtitan, --deepspeed and --run do not go together");
  std::optional<json_text> text;
  if (!o.file.empty()) text = read_run_text(o.file);
  std::optional<ashlar::cost::cluster> cluster;
  if (!o.run.cluster.empty())
    cluster = read_cluster(o.run.cluster);
  else if (text)
    cluster = cluster_of_run(*text);
  if (!cluster)
    throw usage_error(fmt::format("--cluster is required{}", text ? ": the file does not say it" : ""));
  option_words given;
  CLI::App names;
  question_options unused;
  add_question_options(names, unused);
  for (CLI::Option const* option : names.get_options()) {
    std::string const name = option->get_lnames().front();
    if (name == "help") continue;
    auto const* const said = command.get_option("--" + name);
    if (said->count() > 0) given[name] = said->as<std::string>();
  }
  std::optional<described_model> named;
  if (given.count("model") > 0) named = read_described_model(given["model"]);
  beside_file const beside{given, named ? &*named : nullptr, cluster->device_count()};
  framework_run run;
  if (!o.megatron.empty()) run = read_megatron(o.megatron, beside);
  if (!o.torchtitan.empty()) run = read_torchtitan(o.torchtitan, beside);
  if (!o.deepspeed.empty()) run = read_deepspeed(o.deepspeed, beside);
  if (text) run = read_run(*text, beside);
  replace_options(run.options, given);
  for (std::string const needed : {"model", "sequence", "batch"})
    if (run.options.count(needed) == 0 && !(run.model && needed == "model"))
      throw usage_error(
          fmt::format("--{} is required{}", needed, files > 0 ? ": the file does not say it" : ""));
  bool const is_named = run.options.count("model") > 0;
  if (named)
    run.model = named;
  else if (is_named)
    run.model = read_described_model(run.options["model"]);
  run.options.emplace("model", "-");  // these were read already
  run.options.emplace("cluster", "-");
  prediction p = prepare(options_from(run.options), *run.model, *cluster, c);
  p.not_read = run.not_read;
  p.notes.insert(p.notes.end(), run.notes.begin(), run.notes.end());
  p.not_known = run.not_known;
  if (o.best > 0) choose_layout(p, run.options, static_cast<std::size_t>(o.best));
  return p;
}

int predict(CLI::App const& command, predict_options const& o) {
  bool const is_page_or_text = o.format == "text" || o.format == "html";
  must_have_effect(command,
                   {{"--explain", is_page_or_text && o.runs.empty(), "here: it is for text and html"},
                    {"--as", o.runs.empty(), "with --calibrate"}});
  for (char const* each : {"--schedule", "--costs"})
    must_have_effect(command, {{each, o.best == 0, "with --best, which goes by formulas"}});
  for (char const* each : {"--best", "--model", "--cluster", "--sequence", "--batch", "--megatron",
                           "--torchtitan", "--deepspeed", "--run"})
    must_have_effect(command, {{each, o.runs.empty(), "with --calibrate: the file says it"}});
  output const to(o.output);
  fitted_constants const c = o.constants.empty() ? own_constants() : read_constants(o.constants);
  if (!o.runs.empty()) {
    calibration_report const report = calibrate_to(o.runs, c);
    fmt::print("{}", report.text);
    if (o.output != "-") to.write(report.constants);
    return done;
  }
  prediction p = prepare_run(command, o, c);
  answer_it(p);
  p.decisive = decisive_facts(p);
  if (is_page_or_text && o.best == 0) p.better = neighbours_of(p);
  to.write(o.format == "json"    ? json_of(p)
           : o.format == "svg"   ? svg_of(p)
           : o.format == "html"  ? html_of(p)
           : o.format == "trace" ? trace_of(p)
           : o.format == "run"   ? run_text(p)
                                 : printable_lines(text_of(p, o.explains)));
  return o.best > 0 && p.layouts.best.empty() ? invalid : done;
}

}  // namespace

void add_predict(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("predict", "Predict the step time and the memory of a given training run");
  auto const o = std::make_shared<predict_options>();
  add_question_options(*command, o->run, true);
  command
      ->add_option("--megatron", o->megatron,
                   "arguments of Megatron-LM, as a shell line or a YAML; options on the command line "
                   "replace them")
      ->type_name("FILE");
  command->add_option("--torchtitan", o->torchtitan, "a job of torchtitan, a TOML")->type_name("FILE");
  command->add_option("--deepspeed", o->deepspeed, "a configuration of DeepSpeed, beside --model")
      ->type_name("FILE");
  command
      ->add_option("--run", o->file,
                   "a run, as --as run and `python -m ashlar_pp.read` write it; options on the command "
                   "line replace what it says")
      ->type_name("FILE");
  command
      ->add_option("--constants", o->constants,
                   "a file of fitted constants in place of the tool's own (docs/predict.md)")
      ->type_name("FILE");
  add_number(*command, "--best", o->best, 1, 1000,
             "tries the sizes that are not given, shows this many of the fastest layouts that fit, and "
             "predicts the first")
      ->default_str("");
  command->add_flag("--explain", o->explains, "also show each term's formula");
  command
      ->add_option(
          "--calibrate", o->runs,
          "a CSV of measured runs, with a column for each option and step_seconds: fits the machine's "
          "constants to them; -o writes these, for --constants")
      ->type_name("FILE");
  add_format_option(*command, o->format, {"text", "json", "run", "svg", "html", "trace"},
                    "text; json; run: the run, for --run; svg: the passes of a step; html: a page with "
                    "both; trace: for chrome://tracing and Perfetto");
  add_output_option(*command, o->output);
  command->footer("docs/predict.md says how far predictions are from published runs.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return predict(*command, *o); }; });
}

}  // namespace tool

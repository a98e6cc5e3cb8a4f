// ashlar predict: the time and memory of a given run, and whether it fits.
#include "command.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "predict/best_layouts.hpp"
#include "predict/calibration.hpp"
#include "predict/facts_choice.hpp"
#include "predict/question_options.hpp"
#include "predict/run_file.hpp"
#include "predict/run_files.hpp"
#include "report/printed.hpp"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

namespace tool {

namespace {

struct predict_options {
  question_options run;
  run_files files;
  std::string runs;
  bool explains = false;
  int best = 0;  // layouts to be shown; 0: the one that is asked for
  std::string format = "text", output = "-";
};

std::string costs_of_run(prediction const& p) {
  if (p.asked.cluster.has_several_kinds())
    throw usage_error("--as costs: a pass takes another time on each kind of devices");
  return costs_text(p);
}

int predict(CLI::App const& command, predict_options const& o) {
  bool const is_page_or_text = o.format == "text" || o.format == "html";
  must_have_effect(command,
                   {{"--explain", is_page_or_text && o.runs.empty(), "here: it is for text and html"},
                    {"--as", o.runs.empty(), "with --calibrate"}});
  for (char const* each : {"--schedule", "--costs", "--lanes"})
    must_have_effect(command, {{each, o.best == 0, "with --best, which goes by formulas"}});
  for (char const* each : {"--best", "--model", "--cluster", "--sequence", "--batch", "--megatron",
                           "--torchtitan", "--deepspeed", "--run"})
    must_have_effect(command, {{each, o.runs.empty(), "with --calibrate: the file says it"}});
  output const to(o.output);
  fitted_constants const c = constants_of(o.files);
  if (!o.runs.empty()) {
    calibration_report const report = calibrate_to(o.runs, c);
    fmt::print("{}", report.text);
    if (o.output != "-") to.write(report.constants);
    return done;
  }
  given_run given = read_given_run(command, o.files, o.run.cluster, c);
  prediction& p = given.run;
  if (o.best > 0) choose_layout(p, given.options, static_cast<std::size_t>(o.best));
  answer_it(p);
  p.decisive = decisive_facts(p);
  if (is_page_or_text && o.best == 0) p.better = neighbours_of(p);
  to.write(o.format == "json"    ? json_of(p)
           : o.format == "svg"   ? svg_of(p)
           : o.format == "html"  ? html_of(p)
           : o.format == "trace" ? trace_of(p)
           : o.format == "run"   ? run_text(p)
           : o.format == "costs" ? costs_of_run(p)
                                 : printable_lines(text_of(p, o.explains)));
  return o.best > 0 && p.layouts.best.empty() ? invalid : done;
}

}  // namespace

void add_predict(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("predict", "Predict the step time and the memory of a given training run");
  auto const o = std::make_shared<predict_options>();
  add_question_options(*command, o->run, true);
  add_run_files(*command, o->files);
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
  add_format_option(
      *command, o->format, {"text", "json", "run", "costs", "svg", "html", "trace"},
      "text; json; run: the run, for --run; costs: its passes and messages, for --costs of "
      "`ashlar search`, `simulate`, `compare`; svg: the passes of a step; html: a page with "
      "both; trace: for chrome://tracing and Perfetto");
  add_output_option(*command, o->output);
  command->footer("docs/predict.md says how far predictions are from published runs.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return predict(*command, *o); }; });
}

}  // namespace tool

// ashlar layout: the division of a model's layers into the stages of a run.
#include "command.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/output_options.hpp"
#include "predict/dealt_layout.hpp"
#include "predict/question_options.hpp"
#include "predict/run_files.hpp"
#include "predict/words.hpp"
#include "report/certificates.hpp"
#include "report/printed.hpp"
#include <ashlar/cost/question/stage_layout.hpp>

#include <memory>
#include <string>

namespace tool {

namespace {

struct layout_command_options {
  question_options run;
  run_files files;
  std::string against;
  bool spreads = false, explains = false;
  std::string format = "text", output = "-", certificate;
};

int deal_layout_of(CLI::App const& command, layout_command_options const& o) {
  must_have_effect(command, {{"--layout", false, "here: it is what is sought; --against compares one"},
                             {"--explain", o.format == "text", "with --as: it is for text"}});
  output const to(o.output);
  certificates proofs(o.certificate);
  fitted_constants const c = constants_of(o.files);
  prediction run = read_given_run(command, o.files, o.run.cluster, c).run;
  if (!o.against.empty()) {
    run.layout = o.against;
    try {
      run.asked.layout.stages = ashlar::cost::read_layout(o.against, run.asked.model.predictions);
    } catch (ashlar::cost::unpredictable const& e) {
      throw usage_error(sentence_of(e, run.asked));
    }
  }
  run.asked.layout.spreads_losses = o.spreads;
  char const* const of_typed = run.layout.empty() ? "the even division" : "the layout";
  dealt_layout const made = deal_layout(std::move(run), of_typed);
  to.write(o.format == "text"   ? printable_lines(text_of(made, o.explains))
           : o.format == "json" ? json_of(made)
                                : stages_for(o.format, made.run));
  if (std::string const why = certificate_obstacle(made); !why.empty())
    proofs.refuse("the bound of " + made.run.layout, why);
  else if (!o.certificate.empty())
    proofs.add(certificate_of(made));
  int const code = proofs.write();
  return made.is_within ? code : invalid;
}

}  // namespace

void add_layout(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand(
      "layout", "Divide a model's layers into the stages of a run so that its step is shortest");
  auto const o = std::make_shared<layout_command_options>();
  add_question_options(*command, o->run, true);
  add_run_files(*command, o->files);
  command
      ->add_option("--against", o->against,
                   "a layout to compare with, as --layout takes it; else that of the run's file, or the "
                   "even division")
      ->type_name("LAYOUT");
  command->add_flag("--spread-losses", o->spreads,
                    "losses, and layers that predict further tokens, may be on several stages, which no "
                    "release of Megatron-Core up to 0.16.1 runs");
  command->add_flag("--explain", o->explains, "also show each stage's time and bytes");
  add_format_option(*command, o->format,
                    {"text", "json", "megatron", "megatron-bridge", "torchtitan", "deepspeed"},
                    "text; json; or the stages alone: Megatron-LM's argument, Megatron-Bridge's "
                    "overrides, torchtitan's module_fqns_per_model_part, DeepSpeed's parts");
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->footer("docs/layouts.md compares public recipes with what this finds.");
  command->callback(
      [&chosen, command, o] { chosen = [command, o] { return deal_layout_of(*command, *o); }; });
}

}  // namespace tool

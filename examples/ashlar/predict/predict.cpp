// ashlar predict: what a given run takes, and whether it fits.
#include "command.hpp"
#include "files.hpp"
#include "output_options.hpp"
#include "predict/question_options.hpp"

#include <fmt/core.h>

#include <memory>
#include <string>

namespace tool {

namespace {

struct predict_options {
  question_options run;
  std::string constants;
  bool explains = false;
  std::string format = "text", output = "-";
};

int predict(predict_options const& o) {
  output const to(o.output);
  prediction p = prepare(o.run, o.constants.empty() ? own_constants() : read_constants(o.constants));
  answer_it(p);
  if (o.format == "text") p.better = neighbours_of(p);
  to.write(o.format == "json" ? json_of(p) : text_of(p, o.explains));
  return done;
}

}  // namespace

void add_predict(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand(
      "predict", "Say what a given training run takes: its step, and the memory of each device");
  auto const o = std::make_shared<predict_options>();
  add_question_options(*command, o->run);
  command
      ->add_option("--constants", o->constants,
                   "a file of fitted constants in place of the tool's own (docs/predict.md)")
      ->type_name("FILE");
  command->add_flag("--explain", o->explains, "also show each term's formula");
  add_format_option(*command, o->format, {"text", "json"}, "text or json");
  add_output_option(*command, o->output);
  command->footer(
      "docs/predict.md says how far predictions are from published runs.\nExamples:\n"
      "  ashlar predict --model llama3-70b --cluster 16x8xH100 --sequence 8192 --batch 256 --tensor 4 "
      "--pipeline 4 --chunks 5 --sharding optimizer\n"
      "  ashlar predict --model config.json --cluster 8xH200 --sequence 4096 --batch 64 --sharding full "
      "--explain");
  command->callback([&chosen, o] { chosen = [o] { return predict(*o); }; });
}

}  // namespace tool

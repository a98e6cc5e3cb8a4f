// ashlar plan: which division of a training over a cluster makes the shortest step.
#include "command.hpp"
#include "files.hpp"
#include "number_option.hpp"
#include "output_options.hpp"
#include "plan_files.hpp"
#include "plan_report.hpp"
#include "shape_options.hpp"
#include "terminal.hpp"
#include <ashlar/interop/pytorch_csv.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

namespace {

struct plan_options {
  std::string model, cluster;
  int batch = 0, sequence = 0, top = 5;
  double margin = 10;
  std::string schedules = "1f1b,depth-first,zb-h1,v-half";
  bool explains = false;
  std::string format = "text";
  std::string program, output = "-";
};

int plan(plan_options const& o) {
  output const to(o.output);
  std::optional<output> program;
  if (!o.program.empty()) program.emplace(o.program);
  plan_study s{.model = read_model(o.model, o.sequence),
               .cluster = read_cluster(o.cluster),
               .question = {},
               .entries = {},
               .answer = {}};
  s.question.model = s.model.model;
  s.question.machine = s.cluster.machine;
  s.question.constants = s.cluster.constants;
  s.question.widths = s.model.widths;
  s.question.device_count = s.cluster.device_count;
  s.question.batch = o.batch;
  s.question.margin = o.margin / 100;
  s.entries = read_list("--schedules", o.schedules, [](std::string_view name) {
    for (char const* known : {"1f1b", "depth-first", "zb-h1", "v-half", "gpipe"})
      if (name == known) return &entry_named(std::string(name));
    throw usage_error(fmt::format(
        "--schedules takes 1f1b, depth-first, zb-h1, v-half and gpipe, not '{}'", name.substr(0, 64)));
  });
  phase_line line;
  s.answer = answer(s.question, s.entries, static_cast<std::size_t>(o.top),
                    [&](std::size_t done_so_far, std::size_t of) {
                      line.say(fmt::format("simulated {} of at most {} plans", done_so_far, of).c_str());
                    });
  line.end();
  if (s.answer.best.empty() && s.answer.rejected.empty())
    throw usage_error(fmt::format(
        "no division of {} devices suits this model and a batch of {}: data ranks must divide the batch",
        s.cluster.device_count, o.batch));
  if (program && !s.answer.best.empty()) {
    ashlar::training_plan const& best = s.answer.best[0].plan;
    program->write(ashlar::pytorch_csv(passes_of(best, best.micro_batches)));
  }
  to.write(o.format == "json" ? json_of(s) : text_of(s, o.explains));
  return s.answer.best.empty() ? invalid : done;
}

}  // namespace

void add_plan(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand(
      "plan", "Find the division of a training over a cluster with the shortest step");
  auto const o = std::make_shared<plan_options>();
  command
      ->add_option("--model", o->model,
                   "8B, 70B, 175B, or a file: a Hugging Face config.json or an object of its own "
                   "(docs/formats.md)")
      ->required()
      ->type_name("MODEL");
  command
      ->add_option("--cluster", o->cluster,
                   "NODESxDEVICESxKIND with A100, H100 or H200, or a file (docs/formats.md)")
      ->required()
      ->type_name("CLUSTER");
  add_number(*command, "--batch", o->batch, 1, 1'000'000, "sequences of a step")->required();
  add_number(*command, "--sequence", o->sequence, 1, 10'000'000,
             "tokens of a sequence; the model's own if not given");
  add_number(*command, "--memory-margin", o->margin, 0, 99,
             "percent of each device's memory to leave free");
  add_number(*command, "--top", o->top, 1, 1000, "how many plans to show");
  command->add_option("--schedules", o->schedules, "names of schedules to weigh, with commas between")
      ->type_name("NAMES")
      ->capture_default_str();
  command->add_flag("--explain", o->explains, "also show each term of the first plan's time and memory");
  command->add_option("--emit", o->program, "also write the first plan's schedule as PyTorch CSV")
      ->type_name("FILE");
  add_format_option(*command, o->format, {"text", "json"}, "text or json");
  add_output_option(*command, o->output);
  command->footer(
      "Exit code 1: no plan fits. docs/planning.md says what is measured, fitted and "
      "assumed.\nExamples:\n"
      "  ashlar plan --model 70B --sequence 4096 --cluster 64x8xH100 --batch 1024\n"
      "  ashlar plan --model config.json --cluster cluster.json --batch 512 --explain --emit plan.csv");
  command->callback([&chosen, o] { chosen = [o] { return plan(*o); }; });
}

}  // namespace tool

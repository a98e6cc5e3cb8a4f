// ashlar plan: the division of a training over a cluster that makes the shortest step.
#include "command.hpp"
#include "commands/plan_options.hpp"
#include "options/lowering_options.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "predict/frameworks.hpp"
#include "report/certificates.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tool {

void add_plan(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("plan", "Find the fastest way to divide a training run over a cluster");
  auto const o = std::make_shared<plan_options>();
  command
      ->add_option(
          "--model", o->model,
          "a name that `ashlar predict` knows, or a file: a Hugging Face config.json or an object "
          "of its own (docs/formats.md)")
      ->type_name("MODEL");
  command
      ->add_option("--cluster", o->cluster,
                   "NODESxDEVICESxKIND or DEVICESxKIND, as in 4x8xH100; kinds are those of `ashlar "
                   "predict`, several with + between; or a file (docs/formats.md)")
      ->type_name("CLUSTER");
  command
      ->add_option(
          "--costs", o->costs,
          "of measured layers: costs that `ashlar profile` has measured, or a trace of PyTorch's "
          "profiler, with each layer as a stage and one sequence a micro-batch; in place of the "
          "times in --model")
      ->type_name("FILE");
  add_number(*command, "--batch", o->batch, 1, 1'000'000, "sequences of a step")->default_str("");
  add_number(*command, "--sequence", o->sequence, 1, 10'000'000,
             "tokens of a sequence; the model's own if not given");
  command
      ->add_option(
          "--run", o->run,
          "a file that says model, cluster, batch and program, as `ashlar predict --as run` and "
          "`python -m ashlar_pp.read` write it; its layout is left open, and other options "
          "replace what it says")
      ->type_name("FILE");
  add_number(*command, "--memory-margin", o->margin, 0, 99,
             "percent of each device's memory to leave free beside what `ashlar predict` leaves")
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
  add_number(*command, "--search", o->search, 0, 10'000,
             "millions of passes to dispatch in search of a better order of each plan shown; 0: none");
  command
      ->add_option(
          "--schedules", o->schedules,
          "names of schedules to consider, with commas between; if not given, all of the catalog on "
          "the best layouts")
      ->type_name("NAMES");
  add_lanes_option(*command, o->lanes);
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
  command->add_flag("--why", o->asks_why,
                    "also ask the same question with other numbers of tensor and pipeline ranks, each "
                    "kind of devices alone, more memory, and faster links; takes as long as that many "
                    "plans");
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
  add_certificate_option(*command, o->certificate);
  command->footer(
      "Ctrl-C ends the search with what was found so far.\n"
      "docs/planning.md says what is measured, fitted and assumed.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return run_plan(*command, *o); }; });
}

}  // namespace tool

// ashlar train: a byte-level transformer under a pipeline schedule.
#include "command.hpp"
#include "options/cost_options.hpp"
#include "options/number_option.hpp"
#include "train/train_options.hpp"
#include "train/train_values.hpp"

#include <cstdint>
#include <memory>

namespace tool {

void add_train(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("train", "Train a small transformer on text, under a schedule");
  auto const o = std::make_shared<train_options>();
  auto const number = [&](char const* flags, auto& value, auto least, auto most, char const* help) {
    return add_number(*command, flags, value, least, most, help);
  };
  add_training_options(*command, *o);
  add_costs_file(*command, o->shape.cost);
  add_backend_option(
      *command, *o, {"host", "mpi", "cuda"},
      "host: a thread for each device; mpi: a process for each, started by mpirun; cuda: GPUs, all in "
      "this process or as many in each that mpirun, srun or torchrun has started");
  add_gpus_option(*command, *o);
  command->add_flag("--no-graph", o->no_graph,
                    "with --backend cuda, issue every step anew instead of replaying a graph of it");
  number("--steps", o->steps, 1, 1'000'000, "optimizer steps");
  number("--learning-rate", o->rate, 1e-9, 1e9, "Adam's, after a warm-up of 20 steps; falls to a tenth");
  number("--clip-norm", o->clip_norm, 0.0, 1e300,
         "scale the step's gradient to at most this norm; 0: never");
  add_step_option(*command, o->lowering);
  add_precision_option(*command, *o, {"float", "double", "bf16"},
                       "of weights and activations: float, double, or on GPUs bf16 for activations and "
                       "float for weights");
  number("--window", o->window, 1, 1'000'000,
         "where the planned pass has to wait, a device starts the first that can start among this many "
         "of its next ones: the same bits; 1: in order");
  number("--adapt", o->adapt, 0, 1'000'000,
         "steps after which passes are reordered for the times measured so far, or for --costs: the "
         "same sums, bit by bit, in the same memory and less time; 0: never");
  add_value_options(*command, *o);
  command->add_option("--trace", o->trace, "write the last step's measured timeline as a Chrome trace")
      ->type_name("FILE");
  auto* const save =
      command
          ->add_option("--save", o->save,
                       "write a checkpoint to this folder every --save-every steps, and at the end")
          ->type_name("DIR");
  number("--save-every", o->save_every, 1, 1'000'000, "steps from one checkpoint to the next")
      ->needs(save);
  command
      ->add_option("--resume", o->resume,
                   "go on from a checkpoint, or the newest of a folder; with another schedule, other "
                   "devices or ranks, and another backend if you like")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name("DIR");
  number("--restart", o->restart, 0, 1'000'000,
         "how often a training that ends unexpectedly is started again from its newest checkpoint")
      ->needs(save)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command
      ->add_option("--launcher", o->launcher,
                   "the command with which --restart starts the processes of --backend mpi")
      ->type_name("WORDS")
      ->capture_default_str();
  command->add_flag(
      "--verify", o->verify,
      "run the first, every hundredth and the last step on one device as well, one pass after "
      "another, and require bitwise equal losses and gradients (on GPUs: within 1e-4 of the largest)");
  command->add_flag("--skip-nonfinite", o->skip_nonfinite,
                    "skip steps whose loss or gradient is not finite, instead of ending");
  command->footer(
      "Ctrl-C ends the training after the current step and prints what was reached;\n"
      "a second Ctrl-C ends it at once.");
  command->callback([&chosen, o] {
    chosen = [o] { return o->precision == "double" ? train<double>(*o) : train<float>(*o); };
  });
}

}  // namespace tool

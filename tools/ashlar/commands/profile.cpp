// ashlar profile: the times of a model's passes, messages and sums here, for --costs.
#include "command.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "train/train_options.hpp"

#include <memory>
#include <string>

namespace tool {

void add_profile(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand(
      "profile", "Measure the times of passes, messages and sums on a backend, for --costs");
  auto const o = std::make_shared<train_options>();
  o->repeats = 20;
  add_training_options(*command, *o);
  add_backend_option(*command, *o, {"host", "mpi", "cuda"},
                     "host: a thread for each device; mpi: a process for each, started by mpirun; cuda: "
                     "GPUs, all in this process");
  add_gpus_option(*command, *o);
  add_precision_option(*command, *o, {"float", "double", "bf16"},
                       "of weights and activations; bf16 on GPUs");
  add_number(*command, "--repeats", o->repeats, 1, 100'000, "steps to measure");
  add_output_option(*command, o->costs);
  command->footer(
      "The file has medians and quartiles; show, emit, compare, simulate, search, frontier, check, "
      "train, plan and predict take it as --costs FILE.\n"
      "Its stages are those of the schedule: on other schedules it fits where they have as many.");
  command->callback([&chosen, o] {
    chosen = [o] { return o->precision == "double" ? train<double>(*o) : train<float>(*o); };
  });
}

}  // namespace tool

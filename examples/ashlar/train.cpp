// ashlar train: a byte-level transformer under a pipeline schedule.
#include "command.hpp"
#include "train_options.hpp"

#include <memory>
#include <string>
#include <thread>

namespace tool {

void add_train(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("train", "Train a small transformer on text, under a schedule");
  auto const o = std::make_shared<train_options>();
  o->corpus = ASHLAR_SOURCE_DIR;
  auto const option = [&](char const* flags, auto& value, char const* help, char const* type) {
    return command->add_option(flags, value, help)->type_name(type)->capture_default_str();
  };
  option("--schedule", o->shape.name, "schedule, one of `ashlar list`", "NAME");
  option("-p,--devices", o->shape.p, "pipeline devices, a thread each", "N");
  option("-m,--micro-batches", o->shape.m, "micro-batches of a step", "N");
  add_sharing_options(*command, o->lowering);
  add_tying_option(*command, o->lowering);
  option("--corpus", o->corpus, "text file, or folder of text files", "PATH");
  option("--steps", o->steps, "optimizer steps", "N")->check(CLI::Range(1, 1'000'000));
  option("--learning-rate", o->rate, "Adam's, after a warm-up of 20 steps; falls to a tenth", "X")
      ->check(CLI::Range(1e-9, 1.0));
  option("--seed", o->seed, "of weights and batches", "N");
  option("--precision", o->precision, "of weights and activations", "TYPE")
      ->check(CLI::IsMember({"float", "double"}));
  option("--blocks", o->model.blocks, "transformer blocks", "N")->check(CLI::Range(0, 256));
  option("--width", o->model.width, "channels; a multiple of the heads", "N")
      ->check(CLI::Range(1, 4096));
  option("--heads", o->model.heads, "attention heads", "N")->check(CLI::Range(1, 256));
  option("--context", o->model.context, "bytes of a sequence", "N")->check(CLI::Range(1, 4096));
  option("--sequences", o->model.sequences, "sequences of a micro-batch", "N")
      ->check(CLI::Range(1, 1024));
  command->add_option("--trace", o->trace, "write the last step's measured timeline as a Chrome trace")
      ->type_name("FILE");
  command->add_flag(
      "--verify", o->verify,
      "run the first, every hundredth and the last step on one device as well, one pass after "
      "another, and require bitwise equal losses and gradients");
  command->footer(
      "Examples:\n"
      "  ashlar train\n"
      "  ashlar train --schedule zb-h1 -p 2 -m 4 --steps 200 --verify\n"
      "  ashlar train --schedule 1f1b -p 2 --data-ranks 2 --sharding full --tie-embeddings\n"
      "  ashlar train --corpus /usr/include/c++ --precision double --trace step.json\n"
      "Exit codes: 0 trained, 1 the pipeline's bits differ from the sequential model's, 2 wrong usage.");
  command->callback([&chosen, o] {
    chosen = [o] { return o->precision == "float" ? train<float>(*o) : train<double>(*o); };
  });
}

}  // namespace tool

#include "train/train_options.hpp"

#include "options/choice.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"

#include <cstdint>

namespace tool {

namespace {

CLI::Option* add_word(CLI::App& command, char const* flags, std::string& value, char const* help,
                      char const* type) {
  return command.add_option(flags, value, help)->type_name(type)->capture_default_str();
}

}  // namespace

void add_training_options(CLI::App& command, train_options& o) {
  o.shape.command = &command;
  auto const number = [&](char const* flags, auto& value, auto least, auto most, char const* help) {
    return add_number(command, flags, value, least, most, help);
  };
  add_word(command, "--schedule", o.shape.name, "schedule: a name from `ashlar list`, or a file",
           "NAME");
  number("-p,--devices", o.shape.p, 1, most_devices, "pipeline devices, each a thread or a process");
  number("-m,--micro-batches", o.shape.m, 1, most_micro_batches, "micro-batches per step");
  add_moving_options(command, o.shape,
                     "; with --restart, each restart is without one more of them, from the first on");
  add_sharing_options(command, o.lowering);
  add_order_options(command, o.lowering);
  add_tying_option(command, o.lowering);
  command.add_flag("--prediction-layer", o.model.predicts,
                   "let the last stage also predict the token after the next one, from its stream and "
                   "the next token; needs --tie-embeddings");
  using enum gpt::prediction_place;
  add_choice<gpt::prediction_place>(
      command, "--prediction-stage", o.model.predicted,
      {{"behind", behind_head}, {"beside", beside_head}},
      "give that layer the last stage for itself: the stage before has the model's head and goes on to "
      "it (behind), or is that head alone, and both go on from the trunk (beside: with 1f1b)");
  number("--prediction-weight", o.model.prediction, 0.0, 1e3, "weight of the loss of that");
  add_offload_option(command, o.host);
  add_word(command, "--offload-folder", o.offload_folder,
           "folder whose disk takes what leaves, in files that are gone when the training ends; else "
           "memory does",
           "DIR");
  number("-v,--chunks", o.shape.v, 1, most_devices,
         "stages on one device, where the schedule leaves the choice");
  number("--waves", o.shape.waves, 1, most_devices,
         "how often a micro-batch goes down the devices and back up (hanayo)");
  command.add_flag("--input-shards", o.input_shards,
                   "split the embedding by its tokens over all devices: each looks up its own");
  number("--deadline", o.deadline, 0.1, 86'400,
         "seconds without any progress after which a step is given up");
  add_word(command, "--corpus", o.corpus,
           "text file, or folder of text files (default: the current folder, or a text that the tool "
           "has, if there is too little)",
           "PATH");
  number("--seed", o.seed, std::uint64_t{0}, UINT64_MAX, "seed of weights and batches");
  number("--blocks", o.model.blocks, 0, 256, "transformer blocks");
  number("--width", o.model.width, 1, 4096, "channels; a multiple of the heads");
  number("--heads", o.model.heads, 1, 256, "attention heads");
  number("--context", o.model.context, 1, 4096, "bytes of a sequence");
  number("--sequences", o.model.sequences, 1, 1024, "sequences of a micro-batch");
  number("--last-sequences", o.model.last_sequences, 0, 1024,
         "sequences of the last micro-batch, of a batch that --sequences does not divide; 0: as many as "
         "of the others");
}

void add_backend_option(CLI::App& command, train_options& o, std::vector<std::string> const& backends,
                        char const* help) {
  add_word(command, "--backend", o.backend, help, "NAME")->check(CLI::IsMember(backends));
}

void add_precision_option(CLI::App& command, train_options& o, std::vector<std::string> const& types,
                          char const* help) {
  add_word(command, "--precision", o.precision, help, "TYPE")->check(CLI::IsMember(types));
}

void add_gpus_option(CLI::App& command, train_options& o) {
  add_numbers(command, "--gpus", o.gpus, 0, 1023,
              "GPUs of this machine that devices take turns on, with --backend cuda (default: all)")
      ->type_name("LIST");
}

}  // namespace tool

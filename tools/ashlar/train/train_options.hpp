// The options of `ashlar train`.
#pragma once

#include "options/lowering_options.hpp"
#include "options/offload_options.hpp"
#include "options/shape_options.hpp"

#include <CLI/CLI.hpp>
#include <gpt/config.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

struct train_options {
  shape_options shape{.name = "v-half"};
  lowering_options lowering;
  bool input_shards = false;   // whether the embedding's tokens are split over the devices, too
  host_options host;           // what leaves
  std::string offload_folder;  // where to, in files; empty: to memory
  std::string backend = "host";
  double deadline = 30;     // seconds
  std::string corpus = {};  // empty: the current folder, or the text that ships
  std::string precision = "float";
  std::vector<int> gpus;  // empty: all
  bool no_graph = false;
  int steps = 1200;
  double rate = 3e-3;
  std::uint64_t seed = 1;
  std::string trace;
  std::string save;  // folder; empty: nowhere
  int save_every = 100;
  std::string resume;  // folder; empty: from the beginning
  int restart = 0;     // times
  std::string launcher = "mpirun";
  bool verify = false;
  bool skip_nonfinite = false;
  int window = 1;           // passes of which the first that can start does; 1: in order
  int adapt = 0;            // steps after which a better program is sought; 0: never
  int repeats = 0;          // of what is measured; 0: this is no profile, but a training
  std::string costs = "-";  // where a profile goes
  gpt::config model;
  std::string balance = "micro";  // whose tokens the loss that spreads them over experts counts
  std::string loads;              // picture of the experts' loads; empty: none
  std::optional<double> clip;     // each micro-batch's gradient, to that norm; 0: to the least
  double loss_scale = 0;          // at first; 0: none
  double clip_norm = 1;           // of the gradient at most; 0: as it is

  // Instructions are timed on GPUs, where it costs two events for each.
  bool times_instructions() const {
    return no_graph || !trace.empty() || repeats > 0 || (adapt > 0 && !shape.cost.measured);
  }
  std::chrono::milliseconds deadline_ms() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * deadline));
  }
};

// The word for --prediction-stage.
inline char const* word_of(gpt::prediction_place place) {
  return place == gpt::prediction_place::with_head     ? "none"
         : place == gpt::prediction_place::behind_head ? "behind"
                                                       : "beside";
}

// Add options for the model, its corpus and its cut, for all commands that run a training.
void add_training_options(CLI::App& command, train_options& options);
void add_backend_option(CLI::App& command, train_options& options,
                        std::vector<std::string> const& backends, char const* help);
void add_precision_option(CLI::App& command, train_options& options,
                          std::vector<std::string> const& types, char const* help);
void add_gpus_option(CLI::App& command, train_options& options);

// Throws usage_error for options that do not go together.
void require_backend_options(train_options const& options);

// Trains, or measures, with one scalar type; returns an exit_code. Throws usage_error for a corpus that
// cannot be used.
template <class Scalar>
int train(train_options const& options);

extern template int train<float>(train_options const&);
extern template int train<double>(train_options const&);

}  // namespace tool

// A training before anything runs: the same on all processes that take part.
#pragma once

#include "files/files.hpp"
#include "train/checkpoint.hpp"
#include "train/train_options.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <gpt/batch.hpp>
#include <gpt/batch_values.hpp>
#include <gpt/config.hpp>
#include <gpt/corpus.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace tool {

struct training {
  train_options const* options;
  ashlar::schedule schedule;
  gpt::config shape;
  ashlar::program program;
  std::optional<output> trace_to, loads_to;
  gpt::corpus text;
  checkpoint_identity identity;

  int devices() const { return program.device_count() * program.data_ranks; }
  // The workers' part in the work beside the passes.
  gpt::values_work values() const {
    std::optional<double> const clip = options->clip;
    return {program.work, clip && *clip > 0 ? clip : std::nullopt};
  }
  double tokens(int steps) const {
    return static_cast<double>(shape.tokens()) * shape.data_ranks * steps;
  }
};

// Throws usage_error if the options cannot be trained.
training training_of(train_options const& options);

// The checkpoint that the training goes on from. Call it while nobody else writes into the folder of
// --save. Throws usage_error for a checkpoint of another training, and where the folder has one that is
// not gone on from.
std::optional<checkpoint> resumed_of(training const& t);

// A schedule's program for the training's backend.
ashlar::program program_of(train_options const& options, ashlar::schedule const& schedule,
                           gpt::config const& shape);
// Its passes and reductions, without the optimizer's step that it may end with.
ashlar::program passes_of(training const& t);

// The number of processes that a backend of processes needs. Throws usage_error as training_of() does.
int processes_of(train_options const& options);

// The n-th batch of all that the ranks draw, each another one in each step.
inline gpt::batch batch_at(training const& t, std::span<gpt::token const> text, std::uint64_t n) {
  return gpt::sample(text, t.shape, t.options->seed, n);
}

}  // namespace tool

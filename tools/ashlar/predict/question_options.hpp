// The options that say a run: on the command line, and in each row of a file of runs.
#pragma once

#include "predict/framework_files.hpp"
#include "predict/machines.hpp"
#include "predict/report.hpp"
#include <ashlar/cost/question/question.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace tool {

struct question_options {
  std::string model, cluster, layout, recompute, offload, freeze, train_only, head, lora, frozen_weights,
      schedule, costs, facts, tower_tokens, tower_ranks, optimizer, teacher;
  int vocabulary = 0;            // 0: the model's
  ashlar::cost::question asked;  // its sizes; data 0: what follows from the others

  question_options() { asked.layout.data = 0; }
};

// They write to `o`, which must live as long as the command. With files of frameworks, none is
// required.
void add_question_options(CLI::App& command, question_options& o, bool has_files = false);

// Reads the options from words. Throws what CLI11 and the options throw.
question_options options_from(option_words const& words);

// Reads the model and the cluster. Throws usage_error.
prediction prepare(question_options const& o, fitted_constants const& constants);

// Take a model, or also a cluster, that was read already.
prediction prepare(question_options const& o, described_model model, fitted_constants const& constants);
prediction prepare(question_options const& o, described_model model,
                   ashlar::cost::cluster const& cluster, fitted_constants const& constants);

// Throws usage_error.
void answer_it(prediction& p);

}  // namespace tool

// Values across micro-batches in `ashlar train`: experts' loads, gradients' norms, the loss's scale.
#pragma once

#include "train/train_options.hpp"
#include <ashlar/schedule/schedule.hpp>

#include <CLI/CLI.hpp>
#include <gpt/config.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tool {

void add_value_options(CLI::App& command, train_options& options);

// Throws usage_error for options that do not go together.
void require_value_options(train_options const& options);

// Adds the work beside its passes that the options ask for. Throws usage_error, and ashlar::violation as
// balance_experts() and clip_micro_batches() do.
ashlar::schedule with_values(ashlar::schedule s, train_options const& options, gpt::config const& shape);

// A picture of how many tokens each expert gets: a panel for each block, a curve for each expert.
class expert_loads {
 public:
  explicit expert_loads(gpt::config const& shape, int steps);

  // Call it after a step: loads by micro-batch, block and expert, of all ranks.
  void add(std::span<double const> loads);
  std::string svg(std::string const& title) const;

 private:
  std::size_t blocks_, experts_;
  int window_;                                                  // steps that a point is the mean of
  int steps_ = 0;                                               // so far
  std::vector<double> sum_;                                     // of the window, by block and expert
  std::vector<std::vector<std::pair<double, double>>> curves_;  // by block and expert
};

}  // namespace tool

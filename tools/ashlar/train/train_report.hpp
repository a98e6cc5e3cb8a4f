// The report of a training.
#pragma once

#include "files/adaptation.hpp"
#include "train/train_held.hpp"
#include "train/train_team.hpp"
#include "train/training.hpp"
#include <ashlar/simulate/options.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace tool {

// A step's simulation, in which every device has a processor of its own.
struct simulated_step {
  double ms = 0;
  double work_ms = 0;  // of all passes on all devices
};

struct train_report {
  double first_loss = 0, mean_loss = 0;               // the latter a running mean
  double mean_step_ms = 0;                            // likewise
  std::optional<double> prediction_loss = {};         // of the last step, of its prediction layer
  int verified = 0, skipped = 0, counted_losses = 0;  // steps
  std::vector<double> step_ms = {};                   // of each step with the program that it has now
  simulated_step predicted = {};                      // see predict(); 0: not yet
  double least_ms = 0;                  // no order takes less, by the same times; 0: unknown
  std::size_t predicted_from = 0;       // how many of these steps that knew
  simulated_step measured = {};         // see simulate_measured(); 0: unknown
  double before_ms = 0;                 // a step with the program that it had before, if any
  std::optional<held_peaks> held = {};  // of the last step, where values leave for hosts

  void count_loss(double loss) {
    constexpr double averaged_steps = 20;
    if (++counted_losses == 1) first_loss = mean_loss = loss;
    mean_loss += (loss - mean_loss) / std::min<double>(counted_losses, averaged_steps);
  }
  void count_time(double ms) {
    constexpr std::size_t averaged_steps = 50;
    step_ms.push_back(ms);
    mean_step_ms += (ms - mean_step_ms) / static_cast<double>(std::min(step_ms.size(), averaged_steps));
  }
  bool is_predicted() const { return predicted.ms > 0; }
  // Predicts the program's step on such a machine, with ticks of `tick_ns`.
  void predict(training const& t, ashlar::simulation_options const& machine, double tick_ns);
  // Simulates the step with the times that the passes of all these steps took.
  void simulate_measured(training const& t, ashlar::simulation_options const& machine, double tick_ns);
  // The program is another one from now on.
  void adapt();
};

void introduce(training const& t, std::size_t parameters);
// Reports the adaptation after this many steps.
void report_adaptation(adaptation const& a, int steps, double tick_ns);
struct train_end {
  bool early = false;
  int steps = 0;
  double seconds = 0, held_out_loss = 0;
  processors computing;
  double tolerance = 0;  // of the comparisons with the host's model; 0: bitwise
};
void conclude(training const& t, train_report const& r, train_end const& end);

}  // namespace tool

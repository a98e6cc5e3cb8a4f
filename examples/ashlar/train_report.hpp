// What a training tells of itself.
#pragma once

#include "train_team.hpp"
#include "train_timing.hpp"
#include "training.hpp"

#include <algorithm>
#include <cstddef>

namespace tool {

struct train_report {
  double first_loss = 0, mean_loss = 0;               // the latter a running mean
  double mean_step_ms = 0;                            // likewise
  double simulated_ms = 0, least_ms = 0;              // see simulate()
  double work_ms = 0;                                 // of all devices
  int verified = 0, skipped = 0, counted_losses = 0;  // steps
  int timed = 0;

  void count_loss(double loss) {
    constexpr double averaged_steps = 20;
    if (++counted_losses == 1) first_loss = mean_loss = loss;
    mean_loss += (loss - mean_loss) / std::min<double>(counted_losses, averaged_steps);
  }
  void count_time(double step_ms) {
    constexpr int averaged_steps = 50;
    mean_step_ms += (step_ms - mean_step_ms) / std::min(++timed, averaged_steps);
  }
  // What the schedule takes with the measured pass times when every device has a processor of its own.
  void simulate(training const& t, pass_timing& timing);
};

void introduce(training const& t, std::size_t parameters);
struct train_end {
  bool early = false;
  int steps = 0;
  double seconds = 0, held_out_loss = 0;
  processors computing;
  double tolerance = 0;  // of the comparisons with the host's model; 0: bitwise
};
void conclude(training const& t, train_report const& r, train_end const& end);

}  // namespace tool

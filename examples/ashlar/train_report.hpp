// What a training tells of itself.
#pragma once

#include "adaptation.hpp"
#include "train_team.hpp"
#include "training.hpp"
#include <ashlar/simulate/options.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tool {

struct train_report {
  double first_loss = 0, mean_loss = 0;               // the latter a running mean
  double mean_step_ms = 0;                            // likewise
  double simulated_ms = 0, least_ms = 0;              // see simulate()
  double work_ms = 0;                                 // of all devices
  int verified = 0, skipped = 0, counted_losses = 0;  // steps
  std::vector<double> step_ms = {};                   // of each step with the program that it has now
  std::size_t timed = 0;                              // the first of them, whose passes were timed
  double slower = 0;     // by which factor those passes took longer than --costs says; 0: unknown
  double before_ms = 0;  // a step with the program that it had before, if any

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
  // What the program takes on such a machine, of which a tick takes so long, when every device has a
  // processor of its own.
  void simulate(training const& t, ashlar::simulation_options const& machine, double tick_ns);
  // The passes of these steps took so much, in nanoseconds; after simulate().
  void compare_passes(training const& t, ashlar::costs const& own);
  // Another program from now on.
  void adapt();
};

void introduce(training const& t, std::size_t parameters);
// After so many steps.
void tell_adaptation(adaptation const& a, int steps, double tick_ns);
struct train_end {
  bool early = false;
  int steps = 0;
  double seconds = 0, held_out_loss = 0;
  processors computing;
  double tolerance = 0;  // of the comparisons with the host's model; 0: bitwise
};
void conclude(training const& t, train_report const& r, train_end const& end);

}  // namespace tool

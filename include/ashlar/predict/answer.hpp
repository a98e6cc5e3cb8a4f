// What a run takes: its step, its memory, and how far measured runs of its kind were from what was
// predicted of them.
#pragma once

#include <ashlar/predict/memory.hpp>
#include <ashlar/predict/stack.hpp>
#include <ashlar/predict/step.hpp>

#include <array>
#include <vector>

namespace ashlar::predict {

// Of nine in ten measured runs, measured over predicted: from the 5th to the 95th percentile.
struct spread {
  double low = 1, high = 1;
  int runs = 0;  // it is made from
};

// The largest sizes of measured runs. Zeros: any size counts as measured.
struct measured_sizes {
  int sequence = 0, devices = 0, pipeline = 0, tensor = 0, context = 0, expert = 0;
};

// By kind of run.
struct spreads {
  std::array<std::array<spread, 2>, run_kind_count> steps{};  // on one node, on several
  std::array<spread, run_kind_count> peaks{};                 // of the memory in use
  measured_sizes largest;
};

// Why there is no interval around a step: what no measured run is near.
enum class interval_gap : unsigned char {
  none,  // there is one
  idle_stage,
  features,  // what the run does: is_measured_alike()
  machine,
  sequence,
  devices,
  pipeline,
  tensor,
  context,
  expert
};

// Whether a run fits, and whether nine of ten measured peaks of its kind say so, too.
enum class fit : unsigned char { fits, should_fit, should_not_fit, does_not_fit };

// What predict_run() returns. Times are seconds, sizes bytes.
struct answer {
  step_terms step;
  interval_gap gap = interval_gap::features;
  double low = 0, high = 0;  // seconds between which nine of ten runs of this kind were
  std::vector<memory_parts> memory;
  double peak = 0, peak_of_last = 0;  // bytes: on any device; on that of the loss
  double peak_on_host = 0;            // on any device's share of its host
  bool has_peak_interval = false;
  double low_peak = 0, high_peak = 0;  // bytes between which nine of ten peaks of this kind were
  bool fits = false;                   // by the predicted peaks alone
  fit memory_fit = fit::should_not_fit;
  bool every_stage_works = true;
  double operations = 0;  // of a step
  run_kind kind = run_kind::dense_16_bits;
  bool on_several_nodes = false;

  // Where more is not known of the run than of those that were measured.
  void leave_out_intervals() {
    if (has_interval()) gap = interval_gap::features;
    has_peak_interval = false;
    memory_fit = fits ? fit::should_fit : fit::should_not_fit;
  }

  // Tokens per second of all devices, and the model's operations per second of one device.
  double tokens_per_second(question const& q) const { return 1.0 * q.batch * q.sequence / step.seconds; }
  double flops_per_device(question const& q) const { return operations / step.seconds / q.devices; }

  // Whether runs like this one were measured: intervals are made of those.
  bool has_interval() const { return gap == interval_gap::none; }
};

// Whether all that a question asks for has been compared with measured runs.
bool is_measured_alike(question const& q);

// Whether, besides, such a device was measured, and no size is more than twice the largest measured.
interval_gap interval_gap_of(question const& q, measured_sizes const& largest);

// Throws unpredictable, and violation where the catalog has no such schedule.
answer predict_run(question const& q, constants const& c, spreads const& s);

// The terms of all passes of a step on the device that takes longest; `host` is what launching takes
// more than the device.
pass_terms sum_of_passes(step_terms const& step);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/answer.ipp>
#endif

// A run's predicted step time and memory, and how far measured runs of its kind were from their
// predictions.
#pragma once

#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>

#include <array>
#include <vector>

namespace ashlar::cost {

// Measured over predicted, 5th to 95th percentile: nine in ten measured runs lie between.
struct spread {
  double low = 1, high = 1;
  int runs = 0;  // it is made from this many runs
};

// The largest sizes of measured runs. Zeros: any size counts as measured.
struct measured_sizes {
  int sequence = 0, devices = 0, pipeline = 0, tensor = 0, context = 0, expert = 0;
};

// Spreads by kind of run.
struct spreads {
  std::array<std::array<spread, 2>, run_kind_count> steps{};  // on one node, on several
  std::array<spread, run_kind_count> peaks{};                 // of the memory in use
  measured_sizes largest;
};

// Why a step has no interval: the property that no measured run comes near.
enum class interval_gap : unsigned char {
  none,  // there is one
  idle_stage,
  features,  // see is_measured_alike()
  machine,
  sequence,
  devices,
  pipeline,
  tensor,
  context,
  expert
};

// Whether a run fits, and whether nine of ten measured peaks of its kind agree.
enum class fit : unsigned char { fits, should_fit, should_not_fit, does_not_fit };

// The result of predict_run(). Times are seconds, sizes bytes.
struct answer {
  step_terms step;
  interval_gap gap = interval_gap::features;
  double low = 0, high = 0;  // seconds; nine of ten runs of this kind lay between
  std::vector<memory_parts> memory;
  double peak = 0, peak_of_last = 0;  // bytes: on any device; on the device of the loss
  double peak_on_host = 0;            // on any device's share of its host
  bool has_peak_interval = false;
  double low_peak = 0, high_peak = 0;  // bytes; nine of ten peaks of this kind lay between
  bool fits = false;                   // by the predicted peaks alone
  fit memory_fit = fit::should_not_fit;
  bool every_stage_works = true;
  double operations = 0;  // of a step
  run_kind kind = run_kind::dense_16_bits;
  bool on_several_nodes = false;

  // Drops the intervals, for a run that is known less well than the measured ones.
  void leave_out_intervals() {
    if (has_interval()) gap = interval_gap::features;
    has_peak_interval = false;
    memory_fit = fits ? fit::should_fit : fit::should_not_fit;
  }

  // Tokens per second of all devices, and the model's operations per second of one device.
  double tokens_per_second(question const& q) const { return 1.0 * q.batch * q.sequence / step.seconds; }
  double flops_per_device(question const& q) const {
    return operations / step.seconds / q.cluster.devices;
  }

  // Whether runs like this one were measured. Intervals come from those.
  bool has_interval() const { return gap == interval_gap::none; }
};

// Whether everything that a question asks for was compared with measured runs.
bool is_measured_alike(question const& q);

// `none` if, besides, such a device was measured and no size exceeds twice the largest measured; else
// the first reason against it.
interval_gap interval_gap_of(question const& q, measured_sizes const& largest);

// Throws unpredictable, and violation where the catalog has no such schedule.
answer predict_run(question const& q, constants const& c, spreads const& s);

// Sums the terms of all passes of a step on the device that takes longest. `host` is the time that
// launching takes beyond the device's.
pass_terms sum_of_passes(step_terms const& step);

}  // namespace ashlar::cost

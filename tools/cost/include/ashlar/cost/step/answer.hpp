// A run's predicted step time and memory, and how far measured runs of its kind were from their
// predictions.
#pragma once

#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/doubts.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace ashlar::cost {

// How far measured runs of one kind were from predictions by constants that were fitted to other
// sources: standard deviations of the logarithm of measured over predicted.
struct spread {
  double within = 0;   // of the runs of a source about their mean
  double between = 0;  // of the means of sources
  int runs = 0, sources = 0;
  int own_runs = 0;  // that constants were calibrated to; the doubts that they leave count then
};

// Spreads of steps, or of peaks.
struct spread_table {
  std::array<spread, run_kind_count> kinds{};
  double low = -1.65, high = 1.65;  // standard deviations that 5 % of errors are below, and above
  double beyond = 0;  // standard deviation that each property adds that no measured run has
};

// The largest sizes of measured runs. Zeros: any size counts as measured.
struct measured_sizes {
  int sequence = 0, devices = 0, pipeline = 0, tensor = 0, context = 0, expert = 0;
};

// Runs of one family of devices, one width of products and one kind of model: kernels that were
// measured.
struct measured_kernels {
  family device = family::hopper;
  int bits = 16;
  bool has_experts = false;  // or state spaces

  friend constexpr bool operator==(measured_kernels const&, measured_kernels const&) = default;
};
measured_kernels kernels_of(question const& q);

// The measured runs' sizes, and their distance from the predictions.
struct spreads {
  spread_table steps, peaks;
  measured_sizes largest;
  std::vector<measured_kernels> kernels;
  // Bytes a second of the slowest link on which layers were offloaded to a host. Zero: any counts.
  double host_link = 0;
  constant_doubts doubts;  // none, unless constants were calibrated
};

// Properties of a run that no measured run has. Each makes its interval wider.
enum class unmeasured : unsigned char {
  kernels,        // such products on such devices
  size,           // larger than any
  recomputation,  // in some layers
  offload,        // of parts of layers, or over PCIe
  attention,      // a kernel that the program does not take by itself
  dispatch,       // in 8 bits
  schedule,       // that is executed
  shards,         // over some ranks, with copies, or beside a pipeline
  program         // with facts of unmeasured_facts()
};

// Why a step has no interval: the property that no measured run comes near.
enum class interval_gap : unsigned char {
  none,  // there is one
  idle_stage,
  features,  // frozen parts, an optimizer on the host, measured passes
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
  std::vector<unmeasured> beyond;  // the data
  double low = 0, high = 0;        // seconds; nine of ten runs of other sources lay between
  std::vector<memory_parts> memory;
  int fullest = 0;                    // the device with the highest share of its memory in use
  double peak = 0, peak_of_last = 0;  // bytes: on this device; on the device of the loss
  double capacity = 0;                // bytes of the fullest device
  double peak_on_host = 0;            // on any device's share of its host
  bool has_peak_interval = false;
  double low_peak = 0, high_peak = 0;  // bytes; nine of ten peaks of other sources lay between
  bool fits = false;                   // by the predicted peaks alone
  fit memory_fit = fit::should_not_fit;
  bool every_stage_works = true;
  double operations = 0;  // of a step
  run_kind kind = run_kind::dense_16_bits;

  // Drops the intervals, for a run that is known less well than the measured ones.
  void leave_out_intervals() {
    if (has_interval()) gap = interval_gap::features;
    has_peak_interval = false;
    memory_fit = fits ? fit::should_fit : fit::should_not_fit;
  }

  // Tokens per second of all devices, and the model's operations per second of one device.
  double tokens_per_second(question const& q) const { return 1.0 * q.batch * q.sequence / step.seconds; }
  double flops_per_device(question const& q) const {
    return operations / step.seconds / q.cluster.device_count();
  }

  // Whether runs like this one were measured. Intervals come from those.
  bool has_interval() const { return gap == interval_gap::none; }
};

// Properties of the run that no measured run has.
std::vector<unmeasured> unmeasured_in(question const& q, spreads const& s);

// The names of the facts whose values here no measured run is known to have.
std::vector<char const*> unmeasured_facts(question const& q);

// `none` if such a device was measured, no size exceeds twice the largest measured, nothing is frozen
// and the optimizer is not offloaded; else the first reason against an interval.
interval_gap interval_gap_of(question const& q, measured_sizes const& largest);

// Measured over predicted for nine of ten runs of other sources. `of_constants` is the variance of the
// logarithm that doubts about constants make.
struct ratios {
  double low = 1, high = 1;
};
ratios ratios_of(spread_table const& table, run_kind kind, std::size_t unmeasured_properties,
                 double of_constants = 0);

// Throws unpredictable, and violation where the catalog has no such schedule.
answer predict_run(question const& q, constants const& c, spreads const& s);

// Sums the terms of all passes of a step on the device that takes longest. `host` is the time that
// launching takes beyond the device's. Requires micro-batches of each stage, as step_of() gives them.
pass_terms sum_of_passes(step_terms const& step);

}  // namespace ashlar::cost

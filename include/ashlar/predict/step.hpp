// Seconds of a step: the pipeline of passes, and what a step has once.
#pragma once

#include <ashlar/predict/execution.hpp>
#include <ashlar/predict/passes.hpp>
#include <ashlar/predict/stage_layout.hpp>

#include <vector>

namespace ashlar::predict {

// Seconds of a step, by what takes them.
struct step_terms {
  double seconds = 0;
  double passes = 0;  // of the device that takes longest, all micro-batches
  double hidden = 0;  // by which its pairs are shorter than their passes, of which `passes` has nothing
  double bubble = 0;
  double stragglers = 0;
  double data = 0;  // gradient sums and weight gathers over the data ranks, exposed
  double optimizer = 0;
  double update = 0;  // host loops of plain programs
  int device = 0;     // that takes longest; of an executed step, that is busiest
  std::vector<stage_passes> of_stages;
  std::vector<double> micro_batches;  // by stage, that this device works on
  execution run;                      // empty: a closed form
};

// By the closed form, uneven rounds have a quick estimate that is mostly too low.
enum class uneven_rounds : unsigned char { executed, by_closed_form };

// pipeline: the longest of n W_d + the sum of the other devices' largest chunk. W_d: all passes of a
// device for one micro-batch. For one forward, one backward, and for virtual stages in even rounds. What
// is uneven is executed, as another schedule is; its bubble is what is not passes. stragglers: pipeline
// x straggler x log2 of the nodes. data: max(data_exposed x, x - the passes beside it) for gradients (2
// bytes a parameter; 8 without sharding) and for weights (2). A plain program with ZeRO-1 (6 bytes) and
// a classic one (4) hide nothing; the former also has a ring's latency for each part of a layer, both
// ways. Gradients that are shared beside a pipeline are summed once for each group of as many
// micro-batches as devices, contention of it exposed. optimizer: 30 bytes a parameter held / memory.
// update: host_update x layers / stages of plain programs, less what the device has queued when the host
// is through.
step_terms step_of(question const& q, std::vector<stage> const& stages, constants const& c,
                   uneven_rounds how = uneven_rounds::executed);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/step.ipp>
#endif

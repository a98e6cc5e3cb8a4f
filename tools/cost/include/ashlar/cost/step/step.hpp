// Seconds of a step: the pipeline of passes, and the costs once per step.
#pragma once

#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/passes.hpp>

#include <vector>

namespace ashlar::cost {

// Seconds of a step, by cause.
struct step_terms {
  double seconds = 0;
  double passes = 0;  // of the device that takes longest, all micro-batches
  double hidden = 0;  // saved by its pairs over their single passes; not in `passes`
  double bubble = 0;
  double stragglers = 0;
  double data = 0;  // gradient sums and weight gathers over the data ranks, exposed
  double optimizer = 0;
  double update = 0;  // host loops of plain programs
  int device = 0;     // the one that takes longest; in an executed step, the busiest
  std::vector<stage_passes> of_stages;
  std::vector<double> micro_batches;  // by stage, on this device
  execution run;                      // empty: a closed form
};

// The way to time uneven rounds. The closed form is a quick estimate, mostly too low.
enum class uneven_rounds : unsigned char { executed, by_closed_form };

// pipeline: the longest of n W_d + the sum of the other devices' largest chunk. W_d: all passes of a
// device for one micro-batch. This holds for one forward, one backward, and for virtual stages in even
// rounds. Uneven rounds and other schedules are executed; their bubble is the time without passes.
// stragglers: pipeline x straggler x log2 of the nodes. data: max(data_exposed x, x - the passes beside
// it) for gradients (2 bytes a parameter; 8 without sharding) and for weights (2). A plain program with
// ZeRO-1 (6 bytes) and a classic one (4) hide nothing; the former also has a ring's latency for each
// part of a layer, both ways. Gradients sharded beside a pipeline are summed once for each group of as
// many micro-batches as devices, with `contention` of it exposed. optimizer: 30 bytes per parameter held
// / memory. update: host_update x layers / stages of plain programs, less the work that the device has
// queued when the host is through.
step_terms step_of(question const& q, std::vector<stage> const& stages, constants const& c,
                   uneven_rounds how = uneven_rounds::executed);

}  // namespace ashlar::cost

// How work is filled in, and the result.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

enum class fill_policy : unsigned char {
  first_fit,  // the greedy walk of PipeFisher (arXiv 2211.14133): gap after gap, job after job
  best_fit,   // in the fewest steps that packing every part where it leaves the least room finds
  exact,      // in the fewest steps that there are; for few parts (exact_fit)
};

// When a part is ready, for first_fit.
enum class fill_readiness : unsigned char {
  inputs,  // when its inputs are there
  // As published. In the first step, part i of a job that reads passes of a kind is ready after i + 1
  // passes of that kind and of route 0 on its device, even if it reads others. In later steps, and when
  // the rest is tried in all gaps so far, it is ready anywhere, and so are readers of work once that is
  // placed, be it later in time. So work may come before its inputs: early_work() finds it.
  published_counts,
};

struct fill_options {
  fill_policy policy = fill_policy::best_fit;
  fill_readiness ready = fill_readiness::inputs;
  int margin = 0;  // percent of its duration that a part leaves free after it in its gap
  // With best_fit and exact, a device's step lasts from its first pass to that of the next step. Work
  // may lie where the next step's first passes wait for others, also after the last step, if a step
  // comes next.
  bool interlocked = false;
  int period = 0;  // steps in which all work is done once; 0: as few as the policy finds
  // The memory limit of each device, and the sizes of the jobs (one for each, or none of any size). A
  // stash that work reads stays until it has been read; so do the outputs of work; its state is there
  // all the time. Messages do not count. No budget: no limit.
  memory_limit limit = {.memory = {}, .budget = {}};
  std::vector<job_bytes> work_bytes = {};
};

// One step again and again, with work in its gaps that is done once.
struct filling {
  schedule filled;         // over as many steps as any device takes
  std::vector<int> steps;  // of each device, until its work is done; at least 1
  tick step = 0;           // ticks of one step

  friend constexpr bool operator==(filling const&, filling const&) = default;
};

}  // namespace ashlar

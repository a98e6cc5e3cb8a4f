// PipeFisher's performance model: how long a step is with second-order work in its bubbles, and how many
// steps that work takes. Osawa, Li, Hoefler (arXiv 2211.14133), section 3.3 and its public scripts.
#pragma once

#include <ashlar/core/ids.hpp>

namespace ashlar {

// Times of one stage and one micro-batch (inversion and preconditioning: of one stage), in any unit.
struct refresh_times {
  double forward = 0;
  double backward = 0;
  double curvature = 0;
  double inversion = 0;
  double precondition = 0;
};

struct refresh_model {
  double step = 0;       // of the pipeline
  double bubble = 0;     // of a device, in a step
  double with_work = 0;  // a step that also preconditions its gradients
  double steps = 0;      // curvature and inversion by bubble: steps from refresh to refresh, not rounded
};

// Models one pipeline (GPipe, 1F1B) or the two of Chimera, each device with a stage of each.
// `recomputes`: every backward runs its forward again.
inline refresh_model model_refresh(refresh_times t, devices p, micro_batches m, bool is_chimera,
                                   bool recomputes) {
  double const depth = p.value, count = m.value;
  double const backward = t.backward + (recomputes ? t.forward : 0.0);
  // Passes that a device idles for, of each kind.
  double forwards = depth - 1, backwards = depth - 1;
  if (is_chimera && depth == count) {
    forwards = 0;
    backwards = depth - 2;
  } else if (is_chimera) {
    forwards = backwards = depth / 2 - 1;
  }
  refresh_model r;
  r.step = (count + forwards) * t.forward + (count + backwards) * backward;
  r.bubble = forwards * t.forward + backwards * backward;
  r.with_work = r.step + t.precondition;
  r.steps = (t.inversion + count * t.curvature) / r.bubble;
  return r;
}

}  // namespace ashlar

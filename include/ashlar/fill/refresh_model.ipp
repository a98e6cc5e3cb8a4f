// Definitions of refresh_model.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/fill/refresh_model.hpp>

namespace ashlar {

ASHLAR_INLINE refresh_model model_refresh(refresh_times t, devices p, micro_batches m, bool is_chimera,
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

// What a backend and a model have to offer, and the interpreter of one device's stream between them.
#pragma once

#include <ashlar/hazards.hpp>
#include <ashlar/program.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace ashlar {

using buffer = std::span<std::byte>;

// What one compute instruction works on. All buffers are the program's slots: aligned to 64 bytes,
// allocated before the first step, each at least as large as the worker's bytes() for the kind and
// stage.
struct frame {
  pass what;
  std::span<buffer const>
      inputs;  // forward: the activation of each previous stage, in graph order; backward and
               // backward_input: the gradient from each next stage, in graph order
  std::span<buffer const>
      outputs;             // forward: the stage's activation, unless it is last; backward and
                           // backward_input: the gradient for each previous stage, in graph order
  buffer checkpoint;       // forward and recompute, if the program recomputes
  buffer stash;            // all passes but work
  buffer weight_stash;     // backward passes; scratch space in a fused one
  buffer weight_gradient;  // backward and backward_weight add to it; zero when a step begins
};

// A model. Passes of different devices are called from different threads, of one device from one thread
// at a time.
template <class W>
concept worker = requires(W& w, frame const& f, slot_kind kind, int stage, buffer bytes) {
  {
    w.bytes(kind, stage)
    } -> std::convertible_to<std::size_t>;  // capacity that a slot needs for a stage
  w.forward(f);
  w.recompute(f);
  w.backward(f);
  w.backward_input(f);
  w.backward_weight(f);
  w.accumulate(stage, bytes, bytes);  // (stage, into, from): into += from, element by element
  w.reduced(stage, bytes);            // the stage's weight gradient of this step is complete
};

}  // namespace ashlar

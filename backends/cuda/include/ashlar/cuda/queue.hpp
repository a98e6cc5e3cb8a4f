// A lane of a device, with the stream that workers put their kernels on.
#pragma once

#include <ashlar/core/language.hpp>

#include <cuda_runtime.h>

namespace ashlar::cuda {

// Verbs put their work on `stream`, of GPU `gpu`, which is current while they are called, and return.
// They do not wait, do not allocate, and enqueue the same work in every step: a step may be captured in
// a graph and replayed.
struct queue {
  cudaStream_t stream = nullptr;
  int gpu = 0;
  int device = 0;              // of the program
  cudaEvent_t mark = nullptr;  // for who meets others on this lane
};

}  // namespace ashlar::cuda

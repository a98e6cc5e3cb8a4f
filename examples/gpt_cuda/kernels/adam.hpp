// The optimizer's step, with clipping by a norm that only the GPU knows.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace gpt_cuda {

// These numbers change from step to step. They lie in the GPU's memory, where a replayed step finds
// them.
struct adam_numbers {
  float rate = 0;     // learning rate, corrected for the moments' start at zero
  float epsilon = 0;  // likewise
  float beta1 = 0;
  float beta2 = 0;
  double clip = 0;  // largest norm of the gradient; 0: no clipping
};

// One step on `count` weights. `squares`, unless null, is the square of the norm of the whole gradient;
// *seen becomes it, and if it is not finite, nothing else happens. `shadow`, unless null, gets the new
// weights rounded.
void adam_step(std::size_t count, adam_numbers const* numbers, double const* squares,
               float const* gradient, float* weights, float* first, float* second, __nv_bfloat16* shadow,
               double* seen, cudaStream_t stream);

// Rounds `from` into `to`.
void round_to_bf16(std::size_t count, float const* from, __nv_bfloat16* to, cudaStream_t stream);

}  // namespace gpt_cuda

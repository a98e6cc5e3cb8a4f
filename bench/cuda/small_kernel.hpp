// A kernel that takes no time to speak of.
#pragma once

#include <cuda_runtime.h>

namespace bench_cuda {

// One block of a warp adds 1 to 32 numbers.
void small_kernel(float* numbers, cudaStream_t stream);

}  // namespace bench_cuda

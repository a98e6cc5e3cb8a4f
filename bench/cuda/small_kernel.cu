#include "small_kernel.hpp"
#include <ashlar/cuda/launch.hpp>

namespace bench_cuda {

namespace {
ASHLAR_KERNEL add_one(float* numbers) { numbers[ashlar::cuda::thread()] += 1; }
}  // namespace

void small_kernel(float* numbers, cudaStream_t stream) {
  ashlar::cuda::launch(add_one, {1}, 32, 0, stream, numbers);
}

}  // namespace bench_cuda

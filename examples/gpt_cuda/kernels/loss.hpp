// Softmax cross-entropy of the next token, and its gradient at once. T is float or __nv_bfloat16.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpt_cuda {

// Computes loss and gradient from the logits, rows x cols, with a bias added to each column: *loss is
// the mean of -log p(target) over the rows, in nats, and gradient (rows x cols; it may be the logits)
// that of scale x their sum. losses: scratch, a float for each row.
template <class T>
void cross_entropy(int rows, int cols, float const* logits, T const* bias, std::uint8_t const* targets,
                   float scale, T* gradient, float* losses, double* loss, cudaStream_t stream);

}  // namespace gpt_cuda

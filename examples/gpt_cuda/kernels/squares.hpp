// The square of a gradient's norm.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace gpt_cuda {

// Doubles that add_squares() writes.
inline constexpr int square_pieces = 256;

// Squares are summed in steps of 2^-44, sixteen neighbours at a time. So all sums below 128 are exact,
// and their bits do not depend on how the model is cut into stages or on the order of summation, as long
// as tensors start at multiples of sixteen. A norm that is clipped at about 1 loses nothing.
inline constexpr double square_unit = 1.0 / (1LL << 44);

// Writes sums of the squares of parts of the values to `pieces`.
void set_squares(std::size_t count, float const* values, double* pieces, cudaStream_t stream);

// Sets *sum to the sum of the pieces.
void set_sum_of_squares(int count, double const* pieces, double* sum, cudaStream_t stream);

}  // namespace gpt_cuda

// Sums of values on a GPU. Their bits do not depend on which device adds them up.
#pragma once

#include <ashlar/program/slot_layout.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

namespace ashlar::cuda {

// Members of the largest group that can be summed.
inline constexpr std::size_t most_terms = 256;

// Puts terms[0] + terms[1] + ... on the stream, element by element, added in that order and rounded
// after each addition; `out` may be one of the terms. All have `bytes` bytes and lie where the stream's
// GPU can read them. Throws std::invalid_argument for more than most_terms and for elements that cannot
// be summed, error if the kernel cannot be started.
void set_sum(element_type element, std::byte* out, std::span<std::byte const* const> terms,
             std::size_t bytes, cudaStream_t stream);

// Throws std::invalid_argument for elements that cannot be summed.
void check_summable(element_type element);

}  // namespace ashlar::cuda

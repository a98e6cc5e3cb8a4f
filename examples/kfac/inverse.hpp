// The inverse of a curvature factor.
#pragma once

#include "gpt/tensor.hpp"

namespace kfac {

// Inverts a symmetric matrix with `damping` added to its diagonal; reads its lower half. Uses Cholesky
// decomposition, O(n³). Both are n x n, without gaps between their rows. Throws std::runtime_error if
// the sum is not positive definite.
void invert(gpt::matrix<double const> const& factor, double damping, gpt::matrix<double> const& inverse);

}  // namespace kfac

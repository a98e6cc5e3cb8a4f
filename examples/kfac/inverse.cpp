#include "inverse.hpp"

#include <Eigen/Cholesky>

#include <stdexcept>

namespace kfac {

void invert(gpt::matrix<double const> const& factor, double damping,
            gpt::matrix<double> const& inverse) {
  // Rows of a symmetric matrix are columns, too: its lower half by rows is the upper half by columns.
  using matrix = Eigen::MatrixXd;
  matrix damped = Eigen::Map<matrix const>(factor.data, factor.rows, factor.cols);
  damped.diagonal().array() += damping;
  Eigen::LLT<Eigen::Ref<matrix>, Eigen::Upper> const root(damped);
  if (root.info() != Eigen::Success)
    throw std::runtime_error("a curvature factor is not positive definite: it needs more damping");
  Eigen::Map<matrix> result(inverse.data, inverse.rows, inverse.cols);
  result.setIdentity();
  root.solveInPlace(result);
}

}  // namespace kfac

// A device of a data-parallel rank in each process.
#pragma once

#include "train/train_options.hpp"

namespace tool {

// Trains as train() does, on all processes that a launcher has started: those that train have the same
// exit code, and errors are told once. A process that fails alone ends all. Throws usage_error where the
// tool was built without MPI, and on process 0 when there are not as many processes as devices.
template <class Scalar>
int train_on_mpi(train_options const& options);

extern template int train_on_mpi<float>(train_options const&);
extern template int train_on_mpi<double>(train_options const&);

}  // namespace tool

// Stands for ../train_mpi.cpp where there is no MPI to build it with.
#include "train/train_mpi.hpp"

#include "command.hpp"

namespace tool {

template <class Scalar>
int train_on_mpi(train_options const&) {
  throw usage_error(
      "--backend mpi: this ashlar was built without MPI, which was not found; install one (Debian: "
      "libopenmpi-dev) and build again");
}

template int train_on_mpi<float>(train_options const&);
template int train_on_mpi<double>(train_options const&);

}  // namespace tool

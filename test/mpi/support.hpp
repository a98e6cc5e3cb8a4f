// Runs a program on as many of the processes as it needs; then all know what each has found.
#pragma once

#include <ashlar/mpi/runtime.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

namespace mpi_test {

using namespace ashlar;

inline int process() {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  return me;
}
inline int process_count() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
inline bool fits(program const& p) { return p.device_count() * p.data_ranks <= process_count(); }

// A communicator of the first `count` processes; MPI_COMM_NULL on the others.
class part_of_world {
 public:
  explicit part_of_world(int count) {
    MPI_Comm_split(MPI_COMM_WORLD, process() < count ? 0 : MPI_UNDEFINED, process(), &comm_);
  }
  part_of_world(part_of_world const&) = delete;
  ~part_of_world() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  explicit operator bool() const { return comm_ != MPI_COMM_NULL; }
  operator MPI_Comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Shares the workers' results that any process knows with all.
template <class Worker>
void share_results(std::vector<Worker*> const& ranks) {
  for (Worker* w : ranks) {
    std::vector<double> all = w->results();
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    w->adopt(all);
  }
}

// `before(step)` is called before each step. A failure on one process ends all: the others would wait
// for it in the next case.
template <class Worker, class Before>
void run(program const& p, std::vector<Worker*> const& ranks, mpi::run_options options, int steps,
         Before before) {
  try {
    part_of_world const some(p.device_count() * p.data_ranks);
    if (some) {
      Worker& mine = *ranks[static_cast<std::size_t>(process() / p.device_count())];
      mpi::runtime<Worker> runtime(some, p, mine, options);
      for (int step = 0; step < steps; ++step) {
        before(step);
        runtime.run();
      }
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "process %d: %s\n", process(), e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  share_results(ranks);
}
template <class Worker>
void run(program const& p, std::vector<Worker*> const& ranks, mpi::run_options options = {}) {
  run(p, ranks, options, 1, [](int) {});
}

}  // namespace mpi_test

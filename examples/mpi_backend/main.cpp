// Runs the conformance test on mpi_device: mpirun -n 4 mpi_backend. Every process has a copy of the
// worker and runs its device's part; then all learn what the others have found.
#include "mpi_device.hpp"
#include <ashlar/conformance.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

// This process's part of a program.
template <class Worker>
class part {
 public:
  part(program const& p, MPI_Comm world, int me, Worker& w)
      : worker_(w),
        slots_(slot_layout(p.view(), me / p.device_count(), me % p.device_count(),
                           [&](value_key key) { return w.layout(key); })),
        memory_(slots_.total, slots_.alignment),
        plan_(p.view(), me / p.device_count(), me % p.device_count(), w, slots_, memory_.data(),
              wait_detail::all),
        device_(world, p.view(), plan_, me),
        cursor_(plan_) {
    check_able<mpi_device>(p.view(), w);
  }
  void run() {
    cursor_.reset();
    while (!cursor_.is_at_end(plan_, device_))
      if (!poll(plan_, cursor_, worker_, device_)) std::this_thread::yield();
  }

 private:
  Worker& worker_;
  slot_table slots_;
  aligned_memory memory_;
  device_plan plan_;
  mpi_device device_;
  poll_cursor cursor_;
};

template <class Worker>
void run_part(program const& p, std::vector<Worker*> const& ranks, int steps) {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  bool const takes_part = me < p.device_count() * p.data_ranks;
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, me, &world);
  if (takes_part) {
    part<Worker> mine(p, world, me, *ranks[static_cast<std::size_t>(me / p.device_count())]);
    for (int step = 0; step < steps; ++step) {
      for (Worker* w : ranks) w->take();  // the last step's results alone
      mine.run();
    }
  }
  if (takes_part) MPI_Comm_free(&world);
  for (Worker* w : ranks) {
    std::vector<double> all = w->results();
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    w->adopt(all);
  }
}

// Whether work keeps state from step to step, so that the second step differs from the first.
bool keeps_state(program const& p) {
  for (int job = 0; job < p.work.job_count(); ++job)
    if (p.work.view().uses_state(job)) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  auto const fitting = [&](std::vector<conformance::sample_program> all) {
    std::erase_if(all, [&](auto const& s) {
      return s.program.device_count() * s.program.data_ranks > size || s.program.micro_batch_count() > 8;
    });
    return all;
  };
  // Takes every other program: there are three of each schedule, with different lanes.
  auto samples = fitting(conformance::sample_programs());
  bool takes = false;
  std::erase_if(samples, [&](auto const&) { return std::exchange(takes, !takes); });
  bool has_all = true;  // entries of the catalog
  for (catalog::entry const& e : catalog::entries) {
    bool const runs = std::any_of(samples.begin(), samples.end(), [&](auto const& s) {
      return s.name.starts_with(std::string(e.name) + " p=");
    });
    if (!runs && me == 0) std::printf("%s never runs\n", e.name);
    has_all = has_all && runs;
  }
  auto const large = conformance::conforms(
      samples,
      [](program const& p, conformance::network& w) {
        run_part(p, std::vector{&w}, keeps_state(p) ? 1 : 2);
      },
      numerics::any_order, 1U << 20U);
  auto const shared = conformance::ranks_conform(
      fitting(conformance::programs_of_ranks()),
      [](program const& p, std::vector<conformance::sharded_network*> const& w) { run_part(p, w, 1); },
      numerics::any_order);
  for (auto const* report : {&large, &shared})
    for (std::string const& failure : report->failures)
      std::printf("process %d: %s\n", me, failure.c_str());
  if (me == 0)
    std::printf("%d programs with messages of 1 MiB, %d of data-parallel ranks\n", large.programs,
                shared.programs);
  MPI_Finalize();
  return has_all && large.ok() && shared.ok() && shared.programs > 50 ? 0 : 1;
}

#include "command.hpp"
#include "train/launch_watch.hpp"
#include "train/mpi_wait.hpp"
#include "train/train_job.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct mpi_place {
  int rank = 0, size = 1, local_rank = 0;
};

mpi_place begin_mpi(launch_watch& watch) {
  mpi_place place;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  watch.mpi_has_started();
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL, &here);
  MPI_Comm_rank(here, &place.local_rank);
  MPI_Comm_free(&here);
  return place;
}

// A process that ends without finish() takes the others with it: their launcher notices.
class mpi_job : public train_job {
 public:
  // Begins MPI.
  explicit mpi_job(std::chrono::milliseconds deadline)
      : mpi_job(std::make_unique<launch_watch>(deadline), deadline) {}

  void unite(std::span<std::byte> bytes) override {
    constexpr std::size_t most = std::size_t{1} << 28;
    for (std::size_t from = 0; from < bytes.size(); from += most) {
      std::span<std::byte> const some = bytes.subspan(from, std::min(most, bytes.size() - from));
      united_.assign(some.begin(), some.end());  // if others fail, MPI goes on to refer to it
      MPI_Request request = MPI_REQUEST_NULL;
      ashlar::mpi::require(MPI_Iallreduce(MPI_IN_PLACE, united_.data(), static_cast<int>(some.size()),
                                          MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &request));
      if (!ends_within(request, deadline_))
        throw run_error(fmt::format("not all processes have met within {} ms",
                                    static_cast<long long>(deadline_.count())));
      std::copy(united_.begin(), united_.end(), some.begin());
    }
  }
  void finish() override { MPI_Finalize(); }

 private:
  mpi_job(std::unique_ptr<launch_watch> watch, std::chrono::milliseconds deadline)
      : mpi_job(begin_mpi(*watch), deadline) {
    watch_ = std::move(watch);
  }
  mpi_job(mpi_place const& place, std::chrono::milliseconds deadline)
      : train_job(place.rank, place.size, place.local_rank), deadline_(deadline) {}

  std::unique_ptr<launch_watch> watch_;
  std::chrono::milliseconds deadline_;
  std::vector<std::byte> united_;
};

}  // namespace

std::unique_ptr<train_job> job_over_mpi(std::chrono::milliseconds deadline) {
  if (!is_launched() || std::getenv("MASTER_ADDR") != nullptr) return nullptr;
  auto job = std::make_unique<mpi_job>(deadline);
  if (job->size() > 1) return job;
  job->finish();
  return nullptr;
}

}  // namespace tool

// Processes that a launcher has started to train together on GPUs, and what they exchange.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace tool {

// All processes call the same functions in the same order. These throw when one of them has gone, or
// does not come in time.
class train_job {
 public:
  virtual ~train_job() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // among the processes of one machine

  // Does what team::unite() does.
  virtual void unite(std::span<std::byte> bytes) = 0;
  // All end in order.
  virtual void finish() {}

  // Shares what process 0 makes.
  template <class Make>
  auto share(Make make) {
    std::invoke_result_t<Make> value{};
    static_assert(std::is_trivially_copyable_v<decltype(value)>);
    auto const bytes = std::as_writable_bytes(std::span(&value, 1));
    if (rank() == 0)
      value = make();
    else
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
    unite(bytes);
    return value;
  }
  // The number of processes where `here` holds.
  int count_of(bool here) {
    std::vector<std::byte> flags(static_cast<std::size_t>(size()));
    flags[static_cast<std::size_t>(rank())] = std::byte{here};
    unite(flags);
    return static_cast<int>(std::count(flags.begin(), flags.end(), std::byte{1}));
  }

 protected:
  train_job(int rank, int size, int local_rank) : rank_(rank), size_(size), local_rank_(local_rank) {}

 private:
  int rank_, size_, local_rank_;
};

// The processes that mpirun or srun have started, over MPI: they need no address. Null where the tool
// was built without MPI, where it was not started so, and where MASTER_ADDR says that they shall meet
// over TCP.
std::unique_ptr<train_job> job_over_mpi(std::chrono::milliseconds deadline);

}  // namespace tool

// The members of each group: their processes, and a communicator for each group in which a device sums
// or gathers.
#pragma once

#include <ashlar/mpi/error.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/device_status.hpp>
#include <ashlar/run/members.hpp>

#include <mpi.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::mpi {

// `process 2 (device 2)`, or with data-parallel ranks `process 6 (rank 1, device 2)`.
inline std::string name_of_process(program_view const& p, int process) {
  return "process " + std::to_string(process) + " (" + name_of_device(p, process) + ")";
}

// A communicator of our own, whose errors come back as codes.
class communicator {
 public:
  communicator() = default;
  // All processes of `of` call it.
  static communicator copy(MPI_Comm of) {
    communicator c;
    require(MPI_Comm_dup(of, &c.handle_));
    return c.returning_errors();
  }
  // The members call it, for several groups in the same order.
  static communicator of_members(MPI_Comm world, std::vector<int> const& members, int tag) {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    communicator c;
    require(MPI_Comm_group(world, &all));
    require(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some));
    require(MPI_Comm_create_group(world, some, tag, &c.handle_));
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return c.returning_errors();
  }
  communicator(communicator&& other) noexcept : handle_(std::exchange(other.handle_, MPI_COMM_NULL)) {}
  communicator& operator=(communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~communicator() {
    if (handle_ != MPI_COMM_NULL) MPI_Comm_free(&handle_);
  }

  operator MPI_Comm() const { return handle_; }

 private:
  communicator returning_errors() {
    require(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN));
    return std::move(*this);
  }

  MPI_Comm handle_ = MPI_COMM_NULL;
};

// The communicators of the groups in which a device meets others. In each, a process has the number of
// its member.
class group_communicators {
 public:
  // Every process makes its own at the same time.
  group_communicators(MPI_Comm world, program_view const& p, device_plan const& plan, int process) {
    std::map<key, collective_group> needed;
    for (int i = 0; i < plan.size(); ++i) {
      if (!run_detail::meets_others(plan.at(i).what)) continue;
      if (collective_group const& g = plan.at(i).collective().group; g.size > 1) needed[key_of(g)] = g;
    }
    for (auto const& [where, g] : needed)  // in the order of scopes and groups, on all processes
      all_[where] = communicator::of_members(
          world, members_of(p, g, process / p.device_count),
          static_cast<int>(where.first) * (all_reduce_count(p) + p.device_count) + where.second);
  }
  MPI_Comm of(collective_group const& g) const { return all_.at(key_of(g)); }

 private:
  using key = std::pair<group_scope, int>;
  static key key_of(collective_group const& g) { return {g.scope, g.of}; }

  std::map<key, communicator> all_;
};

}  // namespace ashlar::mpi

// This process among the others of a test, and programs on as many of them as they need.
#pragma once

#include <ashlar/cuda/launch_environment.hpp>
#include <ashlar/cuda/rendezvous.hpp>
#include <ashlar/cuda/runtime.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cuda_processes {

using namespace ashlar;

// Each process has one device, on the machine's GPUs in turn.
class job {
 public:
  static job& mine() {
    static job all;
    return all;
  }

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  bool fits(program const& p) const { return devices_of(p) <= size(); }
  static int devices_of(program const& p) { return p.device_count() * p.data_ranks; }

  // A group of the first `count` processes, null on the others; called by all.
  cuda::process_group* group(int count) {
    if (auto const at = groups_.find(count); at != groups_.end()) return at->second.get();
    ncclUniqueId id{};
    if (rank() == 0) id = cuda::make_group_id();
    std::vector<std::byte> const shared = meet_.broadcast(std::as_bytes(std::span(&id, 1)));
    std::memcpy(&id, shared.data(), sizeof id);
    std::unique_ptr<cuda::process_group>& made = groups_[count];
    if (rank() < count)
      made = std::make_unique<cuda::process_group>(
          id, count, std::vector{cuda::local_device{rank(), place_.local_rank % gpus()}});
    return made.get();
  }

  // The larger of each number, over all processes.
  std::vector<double> largest(std::vector<double> const& here) {
    std::vector<double> all = here;
    for (std::vector<std::byte> const& bytes : meet_.gather_all(std::as_bytes(std::span(here)))) {
      std::vector<double> its(bytes.size() / sizeof(double));
      std::memcpy(its.data(), bytes.data(), bytes.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], its.at(i));
    }
    return all;
  }

  // A failure on one process ends it, and with it the job: the others would wait for it.
  template <class Act>
  void alone(Act act) {
    try {
      act();
    } catch (std::exception const& e) {
      std::fprintf(stderr, "process %d: %s\n", rank(), e.what());
      std::_Exit(1);
    }
  }

 private:
  job()
      : place_(cuda::launch_place_from_environment().value()), meet_(place_, std::chrono::seconds(60)) {}
  static int gpus() {
    int count = 0;
    ASHLAR_CUDA(cudaGetDeviceCount, &count);
    return count;
  }

  cuda::launch_place place_;
  cuda::rendezvous meet_;
  std::map<int, std::unique_ptr<cuda::process_group>> groups_;  // by size
};

}  // namespace cuda_processes

// Processes that a launcher has started to train together on GPUs, and what they tell each other.
#pragma once

#include "train_options.hpp"
#include <ashlar/cuda/launch_environment.hpp>
#include <ashlar/cuda/rendezvous.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tool {

// All processes call the same functions in the same order. Throws ashlar::cuda::rendezvous_failed when
// one of them has gone.
class train_job {
 public:
  // Between steps some wait while others write, or compare with the host: longer than a step may stall.
  train_job(ashlar::cuda::launch_place const& place, std::chrono::milliseconds deadline)
      : local_rank_(place.local_rank), meeting_(place, 10 * deadline) {}

  int rank() const { return meeting_.rank(); }
  int size() const { return meeting_.size(); }
  int local_rank() const { return local_rank_; }

  // What process 0 makes.
  template <class Make>
  auto share(Make make) {
    std::invoke_result_t<Make> value{};
    static_assert(std::is_trivially_copyable_v<decltype(value)>);
    if (rank() == 0) value = make();
    auto const told = meeting_.broadcast(std::as_bytes(std::span(&value, 1)));
    std::memcpy(&value, told.data(), sizeof value);
    return value;
  }

  // As team::unite().
  void unite(std::span<std::byte> bytes) {
    for (std::size_t from = 0; from < bytes.size(); from += meeting_.most_bytes) {
      std::span<std::byte> const some =
          bytes.subspan(from, std::min(meeting_.most_bytes, bytes.size() - from));
      for (auto const& theirs : meeting_.gather_all(some))
        for (std::size_t i = 0; i < some.size(); ++i) some[i] |= theirs.at(i);
    }
  }
  // On how many processes something is so.
  int count_of(bool here) {
    std::vector<std::byte> flags(static_cast<std::size_t>(size()));
    flags[static_cast<std::size_t>(rank())] = std::byte{here};
    unite(flags);
    return static_cast<int>(std::count(flags.begin(), flags.end(), std::byte{1}));
  }

 private:
  int local_rank_;
  ashlar::cuda::rendezvous meeting_;
};

}  // namespace tool

// A job whose processes meet over TCP.
#pragma once

#include "train/train_job.hpp"
#include <ashlar/cuda/launch_environment.hpp>
#include <ashlar/cuda/rendezvous.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

namespace tool {

// Throws ashlar::cuda::rendezvous_failed.
class tcp_job : public train_job {
 public:
  tcp_job(ashlar::cuda::launch_place const& place, std::chrono::milliseconds deadline)
      : train_job(place.rank, place.size, place.local_rank), rendezvous_(place, deadline) {}

  void unite(std::span<std::byte> bytes) override {
    for (std::size_t from = 0; from < bytes.size(); from += rendezvous_.most_bytes) {
      std::span<std::byte> const some =
          bytes.subspan(from, std::min(rendezvous_.most_bytes, bytes.size() - from));
      for (auto const& theirs : rendezvous_.gather_all(some))
        for (std::size_t i = 0; i < some.size(); ++i) some[i] |= theirs.at(i);
    }
  }

 private:
  ashlar::cuda::rendezvous rendezvous_;
};

}  // namespace tool

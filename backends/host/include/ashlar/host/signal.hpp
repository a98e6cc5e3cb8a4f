// How a device's thread learns that something it waits for may have happened.
#pragma once

#include <ashlar/core/language.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace ashlar::host {

// A counter that one thread watches and others raise.
class signal {
 public:
  void raise() {
    count_.fetch_add(1, std::memory_order_release);
    count_.notify_one();
  }
  std::uint32_t count() const { return count_.load(std::memory_order_acquire); }

  // Returns when the count differs from `seen`: polls for a while, then sleeps.
  void await_change(std::uint32_t seen, std::chrono::nanoseconds spin_time) const {
    if (spin_time.count() > 0) {
      auto const end = std::chrono::steady_clock::now() + spin_time;
      do {
        for (int spins = 0; spins < 64; ++spins)
          if (count() != seen) return;
        std::this_thread::yield();
      } while (std::chrono::steady_clock::now() < end);
    }
    count_.wait(seen, std::memory_order_acquire);
  }

 private:
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace ashlar::host

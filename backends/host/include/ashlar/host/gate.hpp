// A counter that threads wait on, and that can wake them all with bad news.
#pragma once

#include <atomic>
#include <cstdint>

namespace ashlar::host {

// Thrown out of every wait of a step that has been stopped.
struct stopped {};

class gate {
 public:
  // Only while nobody waits.
  void reset() { value_.store(0, std::memory_order_relaxed); }

  void advance() {
    value_.fetch_add(1, std::memory_order_release);
    value_.notify_all();
  }

  // From now on every await throws.
  void stop() {
    value_.fetch_or(stop_bit, std::memory_order_release);
    value_.notify_all();
  }

  // Returns when advance() has been called `count` times since the reset: spins for a moment, then
  // sleeps.
  void await(std::uint32_t count) const {
    for (int spins = 0;; ++spins) {
      std::uint32_t const value = value_.load(std::memory_order_acquire);
      if ((value & stop_bit) != 0) throw stopped{};
      if (value >= count) return;
      if (spins > 64) value_.wait(value, std::memory_order_acquire);
    }
  }

  std::uint32_t count() const { return value_.load(std::memory_order_acquire) & ~stop_bit; }

 private:
  static constexpr std::uint32_t stop_bit = 0x8000'0000;

  std::atomic<std::uint32_t> value_{0};
};

}  // namespace ashlar::host

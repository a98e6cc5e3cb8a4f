// What of a device's instructions has happened.
#pragma once

#include <ashlar/host/signal.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::host {

class progress {
 public:
  using clock = std::chrono::steady_clock;

  // `times`, if not null, points to the first instruction's time of this device.
  progress(std::size_t instructions, instruction_time* times) : done_(instructions), times_(times) {}

  void step_begins(clock::time_point now) {
    for (auto& flag : done_) flag.store(false, std::memory_order_relaxed);
    start_ = now;
  }

  void begin(int index) {
    if (times_ != nullptr) times_[index].begin = now();
  }
  // By whichever thread brings it about; wakes the device's own.
  void finish(int index) {
    finish_quietly(index);
    changed.raise();
  }
  // By the device's own thread.
  void finish_quietly(int index) {
    if (times_ != nullptr) times_[index].end = now();
    moved_.fetch_add(1, std::memory_order_relaxed);
    done_[static_cast<std::size_t>(index)].store(true, std::memory_order_release);
  }
  bool is_done(int index) const {
    return done_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
  }
  // Changes when anything moves.
  std::uint64_t moved() const { return moved_.load(std::memory_order_relaxed); }

  signal changed;
  std::atomic<bool> works = false;  // inside the worker, where it may stay for as long as it likes

 private:
  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count();
  }

  std::vector<std::atomic<bool>> done_;  // by instruction
  std::atomic<std::uint64_t> moved_{0};
  instruction_time* times_;
  clock::time_point start_{};
};

// Something posted, and whom to tell when it is done.
struct posted {
  progress* who = nullptr;
  int index = 0;

  void finish() const { who->finish(index); }
};

}  // namespace ashlar::host

// The instructions of a device that have happened.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/host/signal.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <algorithm>
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
  progress(std::size_t instructions, instruction_time* times) : states_(instructions), times_(times) {}

  void step_begins(clock::time_point now) {
    for (auto& s : states_) s.store(to_come, std::memory_order_relaxed);
    start_ = now;
  }

  // Called before others can see it.
  void post(int index) { state(index).store(posted_once, std::memory_order_relaxed); }
  void begin(int index) {
    if (times_ != nullptr) times_[index].begin = now();
  }
  // Called by the thread that brings it about; wakes the device's own thread.
  void finish(int index) {
    finish_quietly(index);
    changed.raise();
  }
  // Called by the device's own thread.
  void finish_quietly(int index) {
    if (times_ != nullptr) times_[index].end = now();
    moved_.fetch_add(1, std::memory_order_relaxed);
    state(index).store(done, std::memory_order_release);
  }
  bool is_done(int index) const { return nth(states_, index).load(std::memory_order_acquire) == done; }
  // The first instruction that was posted and is not done; -1 if there is none.
  int waits_for() const {
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (states_[i].load(std::memory_order_acquire) == posted_once) return static_cast<int>(i);
    return -1;
  }
  bool is_over() const {
    return std::all_of(states_.begin(), states_.end(), [](auto const& s) { return s.load() == done; });
  }
  // Changes when anything moves.
  std::uint64_t moved() const { return moved_.load(std::memory_order_relaxed); }

  signal changed;
  // The instruction that the worker is busy with, for as long as it takes; -1 if there is none.
  std::atomic<int> working = -1;

 private:
  enum : unsigned char { to_come, posted_once, done };

  std::atomic<unsigned char>& state(int index) { return nth(states_, index); }
  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count();
  }

  std::vector<std::atomic<unsigned char>> states_;  // by instruction
  std::atomic<std::uint64_t> moved_{0};
  instruction_time* times_;
  clock::time_point start_{};
};

// Something that was posted, and whom to tell when it is done.
struct posted {
  progress* who = nullptr;
  int index = 0;

  void finish() const { who->finish(index); }
};

}  // namespace ashlar::host

// Operations in order, on a thread of their own.
//
// Only what the program orders is ordered here: no lock is shared by two queues' operations, so that a
// thread sanitizer sees two operations that nothing orders.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cuda_substitute {

struct device_state;

// Tells that an operation is over. A thread that waits for it sees what the operation wrote.
class ticket {
 public:
  using clock = std::chrono::steady_clock;

  void wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
  }
  bool done() const {
    std::lock_guard const lock(mutex_);
    return done_;
  }
  // Valid once it is done.
  clock::time_point time() const {
    std::lock_guard const lock(mutex_);
    return time_;
  }
  void finish() {
    std::lock_guard const lock(mutex_);
    done_ = true;
    time_ = clock::now();
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  clock::time_point time_;
};
using ticket_ptr = std::shared_ptr<ticket>;

enum class work {
  device,  // touches device memory
  host,    // a host function: calls of CUDA in it are refused
  marker,  // only waits, or is waited for
};

struct operation {
  work kind = work::marker;
  std::string name = {};
  std::shared_ptr<device_state> device = {};
  std::function<void()> body = {};
  std::vector<ticket_ptr> after = {};
  ticket_ptr done = std::make_shared<ticket>();
};

// Once closed, it ends what it has, without anyone waiting for it.
class work_queue {
 public:
  work_queue();
  work_queue(work_queue const&) = delete;
  work_queue& operator=(work_queue const&) = delete;
  ~work_queue();
  void push(operation next);

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<operation> waiting;
    bool closed = false;
    std::uint64_t machine = 0;
    std::uint64_t salt = 0;
  };
  static void run(std::shared_ptr<state> const& shared);
  std::shared_ptr<state> state_;
};

// Random numbers from a seed (splitmix64, Steele, Lea and Flood 2014).
class random_bits {
 public:
  explicit random_bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  // Returns a number in [0, n), for n up to 2^32.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(((next() >> 32U) * n) >> 32U); }

 private:
  std::uint64_t state_;
};

// The random numbers of the operation that this thread runs.
random_bits& operation_random();

// Whether this thread runs a host function.
bool in_host_function();

}  // namespace cuda_substitute

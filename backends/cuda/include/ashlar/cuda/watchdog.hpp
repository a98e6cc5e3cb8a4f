// A thread that looks after calls which may never come back.
#pragma once

#include <ashlar/core/language.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace ashlar::cuda {

// NCCL's calls may wait for processes that never come, CUDA's for room on a stream that stands still.
// The thread is started by the first call, and sleeps between calls.
class watchdog {
 public:
  watchdog() = default;
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog() {
    {
      std::lock_guard const lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // Calls act(), while the thread calls look() every few milliseconds. If look() throws, the thread
  // calls end(), which makes act() return; then this throws that exception, even if act() threw another.
  // When this returns, neither look() nor end() runs any more, so what end() ends can be given back.
  void guard(std::function<void()> const& act, std::function<void()> const& look,
             std::function<void()> const& end) {
    task mine{&look, &end, nullptr};
    begin(mine);
    try {
      act();
    } catch (...) {
      finish(mine);
      throw;
    }
    finish(mine);
  }

 private:
  struct task {
    std::function<void()> const *look, *end;
    std::exception_ptr thrown;
  };

  void begin(task& t) {
    {
      std::lock_guard const lock(mutex_);
      task_ = &t;
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    }
    changed_.notify_one();
  }
  void finish(task const& t) {
    {
      std::lock_guard const lock(mutex_);
      task_ = nullptr;
    }
    if (t.thrown) std::rethrow_exception(t.thrown);
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (task_ == nullptr) {
        changed_.wait(lock, [this] { return ends_ || task_ != nullptr; });
        continue;
      }
      // Most calls are over by then.
      changed_.wait_for(lock, std::chrono::milliseconds(5), [this] { return ends_; });
      if (task_ == nullptr || task_->thrown) continue;
      try {
        (*task_->look)();
      } catch (...) {
        task_->thrown = std::current_exception();
        (*task_->end)();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  task* task_ = nullptr;  // the call that is under way
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace ashlar::cuda

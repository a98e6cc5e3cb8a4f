// Things that happen late, on other threads, in any order that they are allowed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace adversary {

// What an engine might do wrong.
enum class fault : unsigned char {
  none,
  wait_dropped,
  event_recorded_late,
  send_done_when_posted,
  cleared_once,  // in the first step alone
};

struct options {
  bool in_order = true;   // do queues end in the order in which they were filled?
  bool buffered = false;  // is a send done without its receive?
  std::uint64_t seed = 1;
  int threads = 2;  // that things happen on
  fault what = fault::none;
  int which = 0;      // the how manieth wait is dropped
  bool held = false;  // nothing happens before all has been put on the queues
};

// Things to happen, each after others. Whichever can happen does, at random; but what a dropped wait was
// for comes last.
class world {
 public:
  struct thing {
    std::vector<int> after;               // done before it may begin
    std::function<bool()> may = nullptr;  // asked under the lock, when those are done
    std::function<void(world&)> act;      // called without it
    int const* with = nullptr;            // the thing that this one brings about, if not -1
    bool begun = false, done = false;
  };

  explicit world(options o) : o_(o), dice_(o.seed) {
    for (int i = 0; i < o.threads; ++i) threads_.emplace_back([this] { live(); });
  }
  ~world() {
    {
      std::lock_guard const lock(mutex_);
      leaving_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  options const& how() const { return o_; }
  std::mutex& mutex() { return mutex_; }

  // With the lock held.
  int put(thing t) {
    things_.push_back(std::move(t));
    changed_.notify_all();
    return static_cast<int>(things_.size()) - 1;
  }
  bool is_done(int n) const { return n < 0 || things_[static_cast<std::size_t>(n)].done; }
  bool is_ready(int n) const {
    thing const& t = things_[static_cast<std::size_t>(n)];
    for (int other : t.after)
      if (!is_done(other)) return false;
    return true;
  }
  void shun(int n) { shunned_ = n; }
  int waits = 0;  // asked for so far

  void await(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done(n); });
  }
  // Until all has happened.
  void drain() {
    std::unique_lock lock(mutex_);
    drains_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return left() == 0; });
    things_.clear();
    shunned_ = -1;
    waits = 0;
    drains_ = false;
  }

 private:
  std::size_t left() const {
    std::size_t n = 0;
    for (thing const& t : things_) n += !t.done;
    return n;
  }

  bool is_shunned(int n) const {
    int const* const with = things_[static_cast<std::size_t>(n)].with;
    return shunned_ >= 0 && (n == shunned_ || (with != nullptr && *with == shunned_));
  }

  void live() {
    std::unique_lock lock(mutex_);
    while (!leaving_) {
      std::vector<int> can;
      bool under_way = false;
      for (std::size_t i = 0; i < things_.size() && (drains_ || !o_.held); ++i) {
        thing const& t = things_[i];
        under_way = under_way || (t.begun && !t.done);
        if (!t.begun && is_ready(static_cast<int>(i)) && (!t.may || t.may()))
          can.push_back(static_cast<int>(i));
      }
      if (can.size() > 1 || under_way) std::erase_if(can, [&](int n) { return is_shunned(n); });
      if (can.empty()) {
        changed_.wait(lock);
        continue;
      }
      int const n = can[dice_() % can.size()];
      thing& t = things_[static_cast<std::size_t>(n)];
      t.begun = true;
      bool const dawdles = dice_() % 8 == 0;
      lock.unlock();
      if (dawdles) std::this_thread::yield();
      t.act(*this);
      lock.lock();
      t.done = true;
      changed_.notify_all();
    }
  }

  options o_;
  std::mt19937_64 dice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<thing> things_;
  int shunned_ = -1;
  bool leaving_ = false, drains_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace adversary

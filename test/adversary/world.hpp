// Things that happen late, on other threads, in any order that they are allowed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>
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
  // That things happen on. Without any, nothing happens before all has been put on the queues.
  int threads = 2;
  fault what = fault::none;
  int which = 0;  // the how manieth wait is dropped
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
    int awaits = 0;                       // of those before it
    std::vector<int> before = {};         // that wait for it
    bool done = false;
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
    int const self = static_cast<int>(things_.size());
    for (int other : t.after)
      if (!is_done(other)) {
        at(other).before.push_back(self);
        ++t.awaits;
      }
    if (t.awaits == 0) ready_.insert(self);
    things_.push_back(std::move(t));
    ++left_;
    changed_.notify_all();
    return self;
  }
  bool is_done(int n) const { return n < 0 || at(n).done; }
  bool is_ready(int n) const { return at(n).awaits == 0; }
  void shun(int n) { shunned_ = n; }
  int waits = 0;  // asked for so far

  void await(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done(n); });
  }
  // Until all has happened.
  void drain() {
    std::unique_lock lock(mutex_);
    if (threads_.empty())
      while (happens(lock)) {
      }
    changed_.wait(lock, [&] { return left_ == 0; });
    things_.clear();
    shunned_ = -1;
    waits = 0;
  }

 private:
  thing& at(int n) { return things_[static_cast<std::size_t>(n)]; }
  thing const& at(int n) const { return things_[static_cast<std::size_t>(n)]; }

  bool is_shunned(int n) const {
    int const* const with = at(n).with;
    return shunned_ >= 0 && (n == shunned_ || (with != nullptr && *with == shunned_));
  }

  void live() {
    std::unique_lock lock(mutex_);
    while (!leaving_)
      if (!happens(lock)) changed_.wait(lock);
  }
  // Whether anything could.
  bool happens(std::unique_lock<std::mutex>& lock) {
    std::vector<int> can;
    for (int n : ready_)
      if (!at(n).may || at(n).may()) can.push_back(n);
    if (can.size() > 1 || under_way_ > 0) std::erase_if(can, [&](int n) { return is_shunned(n); });
    if (can.empty()) return false;
    int const n = can[dice_() % can.size()];
    ready_.erase(n);
    ++under_way_;
    bool const dawdles = dice_() % 8 == 0;
    thing& t = at(n);
    lock.unlock();
    if (dawdles) std::this_thread::yield();
    t.act(*this);
    lock.lock();
    --under_way_;
    --left_;
    t.done = true;
    for (int other : t.before)
      if (--at(other).awaits == 0) ready_.insert(other);
    changed_.notify_all();
    return true;
  }

  options o_;
  std::mt19937_64 dice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<thing> things_;
  std::set<int> ready_;  // not begun, and what they are after is done
  int left_ = 0, under_way_ = 0;
  int shunned_ = -1;
  bool leaving_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace adversary

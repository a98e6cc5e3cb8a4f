// Things that happen late, on other threads, in any order that they are allowed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace adversary {

// Faults of an engine.
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
  // Threads that things happen on. Without any, nothing happens before all has been put on the queues.
  int threads = 2;
  fault what = fault::none;
  int which = 0;  // the how manieth wait is dropped
};

// Things that happen, each after others. They begin when they can, and end at random; but if a wait was
// dropped, what it was for ends last.
class world {
 public:
  struct thing {
    std::vector<int> after = {};            // done before it may begin
    std::function<void()> begin = nullptr;  // called under the lock, when those are done
    std::function<bool()> may = nullptr;    // asked then, before the act
    std::function<void()> act = nullptr;    // called without the lock
    int const* with = nullptr;              // the thing that this one brings about, if not -1
    int part_of = -1;                       // the first thing of the same instruction, if not itself
    int awaits = 0;                         // of those before it
    std::vector<int> before = {};           // that wait for it
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

  // Call it with the lock held.
  int put(thing t) {
    int const self = static_cast<int>(things_.size());
    for (int other : t.after)
      if (!is_done(other)) {
        at(other).before.push_back(self);
        ++t.awaits;
      }
    things_.push_back(std::move(t));
    if (at(self).awaits == 0) get_ready(self);
    ++left_;
    changed_.notify_all();
    return self;
  }
  bool is_done(int n) const { return n < 0 || at(n).done; }
  bool is_ready(int n) const { return at(n).awaits == 0; }
  void shun(int n) { shunned_ = whole_of(n); }
  int waits = 0;  // asked for so far

  void await(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done(n); });
  }
  // Waits until all has happened. Throws std::logic_error if anything has gone wrong.
  void drain() {
    std::unique_lock lock(mutex_);
    if (threads_.empty())
      while (happens(lock)) {
      }
    changed_.wait(lock, [&] { return left_ == 0; });
    things_.clear();
    shunned_ = -1;
    waits = 0;
    if (failed_.exchange(false)) throw std::logic_error("an instruction lacks what it needs");
  }
  void fail() { failed_ = true; }

 private:
  thing& at(int n) { return things_[static_cast<std::size_t>(n)]; }
  thing const& at(int n) const { return things_[static_cast<std::size_t>(n)]; }

  void get_ready(int n) {
    ready_.insert(n);
    if (at(n).begin) at(n).begin();
  }
  int whole_of(int n) const { return at(n).part_of < 0 ? n : at(n).part_of; }
  bool is_shunned(int n) const {
    int const* const with = at(n).with;
    return shunned_ >= 0
           && (whole_of(n) == shunned_ || (with != nullptr && whole_of(*with) == shunned_));
  }

  void live() {
    std::unique_lock lock(mutex_);
    while (!leaving_)
      if (!happens(lock)) changed_.wait(lock);
  }
  // Whether anything could happen.
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
    t.act();
    lock.lock();
    --under_way_;
    --left_;
    t.done = true;
    for (int other : t.before)
      if (--at(other).awaits == 0) get_ready(other);
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
  std::atomic<bool> failed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace adversary

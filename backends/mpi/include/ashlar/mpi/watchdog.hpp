// Waiting of an idle process: it spins, then sleeps, and shortly before the deadline asks its peers
// whether they still make progress.
#pragma once

#include <ashlar/mpi/device.hpp>
#include <ashlar/mpi/error.hpp>
#include <ashlar/mpi/groups.hpp>
#include <ashlar/mpi/session.hpp>
#include <ashlar/mpi/watch.hpp>
#include <ashlar/run/device_status.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ashlar::mpi {

// Everything is called with the lock that guards the device, which is given up where this says so.
class watchdog {
 public:
  using clock = std::chrono::steady_clock;

  // The processes of `world` make theirs together. Refers to the device and to the program's memory.
  watchdog(MPI_Comm world, program_view const& p, int process, device& d,
           std::chrono::milliseconds deadline)
      : view_(p), process_(process), device_(&d), deadline_(deadline), watch_(world) {
    set_activity(activity::between_steps, -1);
    // A waiting thread polls only if that takes the processor from no other.
    MPI_Comm node = MPI_COMM_NULL;
    int here = 0;
    require(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    require(MPI_Comm_size(node, &here));
    MPI_Comm_free(&node);
    if (static_cast<unsigned>(here) <= std::thread::hardware_concurrency())
      spin_time_ = std::chrono::microseconds(500);
  }

  void step_begins() { ++step_; }
  void set_activity(activity what, int index) {
    doing_ = what;
    index_ = index;
    moved();
  }
  void moved() { since_ = clock::now(); }

  // Answers the questions of others. Throws peer_failed when one says that it has failed.
  void look() {
    answer();
    if (!watch_.failure().empty()) throw peer_failed(watch_.failure() + "; " + own_status());
  }
  // Answers, for a thread that cannot report the failures of others.
  void answer() {
    watch_.look([this] { return where(); });
  }
  // Gives up the lock for a moment, when nothing moves. Throws stalled when nothing has moved anywhere
  // for the deadline, no process computes, or one does not answer.
  void wait(std::unique_lock<std::mutex>& lock) {
    look();
    auto const now = clock::now();
    if (termination_requested != 0 || (now - since_ >= limit() && now >= not_before_))
      return inquire(lock);
    bool const soon = now - since_ < spin_time_;
    lock.unlock();
    if (soon)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
  void announce(std::string const& why) { watch_.announce(why); }

 private:
  // The time to answer, of the deadline or of what a launcher grants to those that it ends.
  std::chrono::milliseconds time_to_answer() const {
    return std::min(deadline_ / 4, std::chrono::milliseconds(termination_requested != 0 ? 300 : 1000));
  }
  std::chrono::milliseconds limit() const { return deadline_ - time_to_answer(); }

  // Returns if there is a reason to go on.
  void inquire(std::unique_lock<std::mutex>& lock) {
    bool const ends = termination_requested != 0;
    watch_.ask();
    for (auto const end = clock::now() + time_to_answer();
         clock::now() < end && !watch_.all_answered();) {
      if (device_->turn() && !ends) return moved();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
      look();
    }
    // If a launcher ends all processes although none has died, there is time to end the step.
    if (watch_.all_answered() && (ends || watch_.anyone_computes())) return moved();
    if (auto const lately = watch_.last_moved(); watch_.all_answered() && lately < deadline_) {
      not_before_ = clock::now() + (deadline_ - lately);
      return;
    }
    throw stalled(own_status() + (ends ? "; the launcher ends all processes" : "")
                  + watch_.account(view_));
  }

  device_status where() const {
    device_status s{
        .what = doing_,
        .index = index_,
        .step = step_,
        .for_ms = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - since_).count()};
    if (doing_ != activity::waits) return s;
    s.index = device_->waits_for();
    if (s.index < 0) return s;
    std::vector<int> const missing = device_->missing(s.index);
    s.missing_count = static_cast<int>(missing.size());
    if (!missing.empty()) s.missing = missing.front();
    return s;
  }
  std::string own_status() const {
    return name_of_process(view_, process_) + " " + describe(view_, process_, where());
  }

  program_view view_;
  int process_;
  device* device_;
  std::chrono::milliseconds deadline_;
  watch watch_;
  std::chrono::nanoseconds spin_time_{0};
  activity doing_ = activity::between_steps;
  int index_ = -1;
  std::int64_t step_ = 0;
  clock::time_point since_{}, not_before_{};
};

}  // namespace ashlar::mpi

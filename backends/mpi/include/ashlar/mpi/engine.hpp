// Runs a device of a program in each process, for workers of any class.
#pragma once

#include <ashlar/mpi/device.hpp>
#include <ashlar/mpi/error.hpp>
#include <ashlar/mpi/identity.hpp>
#include <ashlar/mpi/session.hpp>
#include <ashlar/mpi/watchdog.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/poll.hpp>
#include <ashlar/run/program_source.hpp>

#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ashlar::mpi {

// Who advances transfers while a pass computes.
enum class progress_by : unsigned char {
  thread,  // one that looks after them; needs MPI_THREAD_MULTIPLE
  nobody,  // they wait until the pass is over
};

struct run_options {
  numerics sums = numerics::ordered;
  progress_by progress = progress_by::thread;
  std::chrono::microseconds period{500};     // between two looks of the thread
  std::size_t piece = std::size_t{1} << 30;  // larger messages are sent in pieces
  std::chrono::milliseconds deadline{30000};
  int window = 1;  // starts the first ready one of the next `window` passes; 1: in order
};

// Runs a step at a time, as runtime says.
class engine {
 public:
  engine(MPI_Comm comm, program_source p, worker_ref<device::queue> w, run_options options)
      : program_(std::move(p)),
        view_(program_.view()),
        worker_(w),
        process_(agreed(comm, options)),
        options_(options) {
    start(comm);
  }

  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  ~engine() {
    {
      std::lock_guard const lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (!failed_) return;
    // Requests that never end still refer to all this.
    static_cast<void>(memory_.release());
    static_cast<void>(away_.release());
    static_cast<void>(device_.release());
    static_cast<void>(watchdog_.release());
  }

  void run() {
    std::unique_lock lock(mutex_);
    guarded(lock, [&] {
      watchdog_->step_begins();
      device_->step_begins();
      cursor_->reset();
      drive(lock);
    });
  }

  void meet(MPI_Request& request) {
    std::unique_lock lock(mutex_);
    guarded(lock, [&] {
      watchdog_->set_activity(activity::synchronizes, -1);
      for (int over = 0;;) {
        require(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
        if (over != 0) return;
        watchdog_->wait(lock);
      }
    });
  }

  void work(function_ref<void()> act) {
    std::unique_lock lock(mutex_);
    watchdog_->set_activity(activity::computes, -1);
    lock.unlock();
    auto const over = [&] {
      lock.lock();
      watchdog_->set_activity(activity::between_steps, -1);
    };
    try {
      act();
    } catch (...) {
      over();
      throw;
    }
    over();
  }

  int rank() const { return process_ / view_.device_count; }
  int device_number() const { return process_ % view_.device_count; }
  // Times of the last step, by instruction of this process's device.
  std::vector<instruction_time> const& times() const { return device_->times(); }
  program_view const& view() const { return view_; }
  std::size_t slot_bytes() const { return memory_->view().size(); }
  std::size_t host_slot_bytes() const { return away_->view().size(); }

 private:
  int agreed(MPI_Comm comm, run_options const& o) {
    auto const layout = [this](value_key key) { return worker_.layout(key); };
    require_same(comm, identity_of(view_, layout_function(layout)), o.deadline);
    int size = 0, me = 0, level = 0;
    require(MPI_Comm_size(comm, &size));
    require(MPI_Comm_rank(comm, &me));
    require(MPI_Query_thread(&level));
    if (size != view_.device_count * view_.data_ranks)
      throw std::invalid_argument("a program of " + std::to_string(view_.device_count) + " devices and "
                                  + std::to_string(view_.data_ranks)
                                  + " data-parallel ranks needs a process for each, not "
                                  + std::to_string(size));
    if (o.progress == progress_by::thread && level < MPI_THREAD_MULTIPLE)
      throw std::invalid_argument("a thread for progress needs MPI_THREAD_MULTIPLE");
    if (o.piece == 0 || o.piece > std::size_t{1} << 30)
      throw std::invalid_argument("a piece of a message has 1 to 2^30 bytes");
    program_.prove();
    check_able<device>(view_, worker_);
    require_window(view_, o.window);
    return me;
  }

  void start(MPI_Comm comm) {
    auto const layout = [this](value_key key) { return worker_.layout(key); };
    slot_table const slots = slot_layout(view_, rank(), device_number(), layout_function(layout));
    memory_ = std::make_unique<aligned_memory>(slots.total, slots.alignment);
    away_ = std::make_unique<aligned_memory>(slots.host_total, slots.alignment);
    plan_ =
        std::make_unique<device_plan>(view_, rank(), device_number(), layout_function(layout), slots,
                                      memory_->data(), detail_of_window(options_.window), away_->data());
    cursor_ = std::make_unique<poll_cursor>(*plan_, options_.window);
    device_ =
        std::make_unique<device>(comm, view_, *plan_, process_, options_.sums, options_.piece, mutex_);
    watchdog_ = std::make_unique<watchdog>(comm, view_, process_, *device_, options_.deadline);
    if (options_.progress == progress_by::thread) thread_ = std::jthread([this] { serve(); });
  }

  // Everything below is called with the lock, which is given up while the worker works and while
  // waiting.
  void guarded(std::unique_lock<std::mutex>& lock, function_ref<void()> act) {
    if (failed_) throw std::logic_error("a runtime that has failed cannot run another step");
    main_looks_ = true;
    try {
      act();
    } catch (peer_failed const&) {
      fail(lock, {});
      throw;
    } catch (stalled const& e) {
      fail(lock, e.what());
      throw;
    } catch (std::exception const& e) {
      fail(lock, name_of_process(view_, process_) + " fails: " + e.what());
      throw;
    } catch (...) {
      fail(lock, name_of_process(view_, process_) + " fails");
      throw;
    }
    watchdog_->set_activity(activity::between_steps, -1);
    main_looks_ = false;
  }

  void drive(std::unique_lock<std::mutex>& lock) {
    auto const working = [&](int index, auto act) {
      watchdog_->set_activity(activity::computes, index);
      main_looks_ = false;
      if (!device_->is_idle()) wake_.notify_one();
      lock.unlock();
      act();
      lock.lock();
      main_looks_ = true;
      watchdog_->set_activity(activity::waits, -1);
      device_->ends(index);
    };
    auto const post_one = [&](int index) {
      device_->begins(index);
      instruction const& what = plan_->at(index).what;
      if (what.code == opcode::send || what.code == opcode::receive || run_detail::meets_others(what))
        return post(*plan_, index, worker_, *device_);
      if (what.overlaps_next) device_->begins(index + 1);
      working(index, [&] { post(*plan_, index, worker_, *device_); });
      if (what.overlaps_next) device_->ends(index + 1);
    };
    auto const notify_one = [&](int index) {
      if (is_notified(worker_, plan_->at(index)))
        working(index, [&] { notify(*plan_, index, worker_, *device_); });
    };
    watchdog_->set_activity(activity::waits, -1);
    while (!cursor_->is_at_end(*plan_, *device_)) {
      bool const posted = poll<device>(*plan_, *cursor_, worker_, *device_, post_one, notify_one);
      if (device_->turn() || posted)
        watchdog_->moved();
      else
        watchdog_->wait(lock);
    }
  }

  void fail(std::unique_lock<std::mutex>& lock, std::string const& why) {
    if (!lock.owns_lock()) lock.lock();
    failed_ = true;
    if (!why.empty()) watchdog_->announce(why);
  }

  // The thread that looks after transfers while the main one is with the worker, and answers questions
  // also between steps.
  void serve() {
    std::unique_lock lock(mutex_);
    while (!leaving_) {
      bool const acts = !main_looks_ && !failed_;
      if (acts) {
        device_->turn();
        watchdog_->answer();
      }
      if (acts && !device_->is_idle())
        wake_.wait_for(lock, options_.period);
      else
        wake_.wait_for(lock, std::chrono::milliseconds(10));
    }
  }

  program_source program_;
  program_view view_;
  worker_ref<device::queue> worker_;
  int process_;
  run_options options_;
  std::unique_ptr<aligned_memory> memory_;
  std::unique_ptr<aligned_memory> away_;  // where it offloads to
  std::unique_ptr<device_plan> plan_;
  std::unique_ptr<poll_cursor> cursor_;
  std::unique_ptr<device> device_;
  std::unique_ptr<watchdog> watchdog_;

  std::mutex mutex_;  // guards the above and what follows
  std::condition_variable wake_;
  bool main_looks_ = false;
  bool leaving_ = false;
  bool failed_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ashlar::mpi

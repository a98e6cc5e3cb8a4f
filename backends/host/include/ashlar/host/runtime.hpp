// Runs a program on threads: one a device, and one for each further lane that the device uses.
#pragma once

#include <ashlar/check.hpp>
#include <ashlar/host/error.hpp>
#include <ashlar/host/memory.hpp>
#include <ashlar/host/transport.hpp>
#include <ashlar/render/token.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ashlar::host {

struct run_options {
  transfer_mode mode = transfer_mode::rendezvous;
  std::uint32_t buffered_depth = 4;  // messages in flight between two devices, if buffered
  bool record = false;               // keep the times of all instructions
  std::chrono::milliseconds stall_timeout{5000};
};

// A step at a time. The threads sleep between steps; a step allocates nothing and takes no lock but to
// begin and end.
template <worker Worker>
class runtime {
 public:
  // Keeps a copy of the program, but refers to the worker. Throws violation with check(p) for an invalid
  // program, std::invalid_argument for a buffer without places, std::system_error when there are too
  // many threads for the system.
  runtime(program p, Worker& w, run_options options = {})
      : program_(std::make_unique<program>(proved(std::move(p)))),
        view_(program_->view()),
        worker_(w),
        options_(usable(options)) {
    start();
  }

  // Refers to the program's memory, which must outlive the runtime: for frozen programs, proved while
  // compiling.
  runtime(program_view const& p, Worker& w, run_options options = {})
      : view_(p), worker_(w), options_(usable(options)) {
    start();
  }

  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

  ~runtime() { leave(); }

  // One step. Rethrows what the worker throws on any device, after all devices have stopped; throws
  // stalled when nothing has moved for the stall timeout and no device is inside the worker, and
  // mismatched_transfer when two devices disagree. After an exception the runtime is ready for the next
  // step. Passes are never interrupted: a step that fails lasts until those under way return.
  void run() {
    board_->reset();
    std::unique_lock lock(mutex_);
    error_ = nullptr;
    running_ = threads_.size();
    auto const now = clock::now();
    for (auto& end : ends_) end.step_begins(now);
    ++step_;
    begin_.notify_all();
    watch(lock);
    if (error_) std::rethrow_exception(error_);
  }

  // By instruction of the whole program, of the last step; empty unless options.record.
  std::vector<instruction_time> const& times() const { return times_; }
  program_view const& view() const { return view_; }

 private:
  using clock = std::chrono::steady_clock;

  static program proved(program p) {
    if (diagnosis const d = check(p); !d.ok()) throw violation{d};
    return p;
  }

  static run_options usable(run_options const& o) {
    if (o.mode == transfer_mode::buffered && o.buffered_depth == 0)
      throw std::invalid_argument("a buffer between two devices has to hold at least one message");
    return o;
  }

  std::size_t bytes(slot_kind kind, int stage) const {
    return static_cast<std::size_t>(worker_.bytes(kind, stage));
  }

  void start() {
    auto const size_of = [this](slot_kind kind, int stage) { return bytes(kind, stage); };
    std::size_t largest = 0;
    for (int stage = 0; stage < view_.stage_count; ++stage)
      for (slot_kind kind : {slot_kind::activation, slot_kind::gradient})
        largest = std::max(largest, bytes(kind, stage));
    board_ = std::make_unique<switchboard>(view_, options_.mode, options_.buffered_depth, largest);
    if (options_.record) times_.resize(view_.instructions.size());
    for (int d = 0; d < view_.device_count; ++d) {
      memory_.emplace_back(view_, d, size_of);
      plans_.emplace_back(view_, d, memory_.back().slots(), size_of);
      auto const first = static_cast<std::size_t>(view_.stream_begin[static_cast<std::size_t>(d)]);
      ends_.emplace_back(view_, d, *board_, worker_, options_.record ? times_.data() + first : nullptr);
    }
    try {
      for (int d = 0; d < view_.device_count; ++d)
        for (int lane = 0; lane < view_.lane_count; ++lane)
          if (lane == compute_lane || !plans_[static_cast<std::size_t>(d)].lane(lane).empty())
            threads_.emplace_back([this, d, lane] { live(d, lane); });
    } catch (...) {  // the system has no more threads: those that live are joined without a destructor
      leave();
      throw;
    }
  }

  void leave() {
    {
      std::lock_guard const lock(mutex_);
      leaving_ = true;
    }
    begin_.notify_all();
  }

  // A lane's thread: a step whenever one begins.
  void live(int device, int lane) {
    for (std::uint64_t seen = 0;;) {
      {
        std::unique_lock lock(mutex_);
        begin_.wait(lock, [&] { return leaving_ || step_ != seen; });
        if (leaving_) return;
        seen = step_;
      }
      try {
        run_lane(device, lane);
      } catch (stopped const&) {
      } catch (...) {
        fail(std::current_exception());
      }
      std::lock_guard const lock(mutex_);
      if (--running_ == 0) end_.notify_all();
    }
  }

  void run_lane(int device, int lane) {
    auto const d = static_cast<std::size_t>(device);
    // Other lanes touch the accumulators only behind this lane's weight passes.
    if (lane == compute_lane) memory_[d].clear_accumulators();
    for (int index : plans_[d].lane(lane)) interpret(plans_[d], index, worker_, ends_[d]);
  }

  void fail(std::exception_ptr error) {
    {
      std::lock_guard const lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    board_->stop();
  }

  // Until all lanes are through; stops them when nothing moves any more.
  void watch(std::unique_lock<std::mutex>& lock) {
    auto last_change = clock::now();
    std::uint64_t moved = 0;
    auto const pause =
        std::min<std::chrono::milliseconds>(options_.stall_timeout, std::chrono::milliseconds{50});
    while (!end_.wait_for(lock, pause, [&] { return running_ == 0; })) {
      std::uint64_t const now_moved = board_->moved();
      if (now_moved != moved || board_->anyone_works()) {
        moved = now_moved;
        last_change = clock::now();
      } else if (!error_ && clock::now() - last_change >= options_.stall_timeout) {
        error_ = std::make_exception_ptr(stalled(where_all_stand()));
        board_->stop();
      }
    }
  }

  std::string where_all_stand() {
    std::string text =
        "nothing has moved for " + std::to_string(options_.stall_timeout.count()) + " ms:";
    for (int d = 0; d < view_.device_count; ++d)
      for (int lane = 0; lane < view_.lane_count; ++lane) {
        device_plan const& plan = plans_[static_cast<std::size_t>(d)];
        std::size_t const done = board_->progress(d, lane).count();
        if (done >= plan.lane(lane).size()) continue;
        int const index = plan.lane(lane)[done];
        text += " device " + std::to_string(d) + " waits at position " + std::to_string(index) + " ("
                + to_string(plan.at(index).what) + ");";
      }
    return text;
  }

  std::unique_ptr<program> program_;
  program_view view_;
  Worker& worker_;
  run_options options_;
  std::unique_ptr<switchboard> board_;
  std::vector<slot_memory> memory_;           // by device
  std::vector<device_plan> plans_;            // by device
  std::vector<host_transport<Worker>> ends_;  // by device
  std::vector<instruction_time> times_;

  std::mutex mutex_;  // guards what follows; taken when a step begins, ends or fails
  std::condition_variable begin_, end_;
  std::uint64_t step_ = 0;
  std::size_t running_ = 0;
  bool leaving_ = false;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace ashlar::host

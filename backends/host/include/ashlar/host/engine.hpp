// Runs a program on threads, for workers of any class.
#pragma once

#include <ashlar/host/device_end.hpp>
#include <ashlar/host/device_status.hpp>
#include <ashlar/host/error.hpp>
#include <ashlar/host/host_pool.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/program_source.hpp>

#include <algorithm>
#include <atomic>
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
  send_mode mode = send_mode::rendezvous;
  std::uint32_t buffered_depth = 4;           // messages in flight between two devices, if buffered
  bool record = false;                        // keep the times of all instructions
  std::chrono::milliseconds deadline{30000};  // for something to move, unless a worker works
  int window = 1;  // a device starts the first ready one of its next `window` passes; 1: in order
  std::string offload_folder = {};  // its disk takes offloaded values, in files; empty: memory does
};

// Runs one step at a time, as runtime says.
class engine {
 public:
  using workers = std::vector<worker_ref<queue>>;

  engine(program_source p, workers ranks, run_options options)
      : program_(std::move(p.prove())),
        view_(program_.view()),
        workers_(able(view_, std::move(ranks))),
        options_(usable(options)) {
    require_window(view_, options_.window);
    start();
  }

  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  ~engine() { leave(); }

  void run() {
    for (auto& fabric : fabrics_) fabric->reset();
    collectives_->reset();
    std::unique_lock lock(mutex_);
    error_ = nullptr;
    stopping_ = false;
    running_ = threads_.size();
    auto const now = clock::now();
    for (auto& end : ends_) {
      end->done.step_begins(now);
      end->cursor.reset();
      end->self.reset();
    }
    ++step_;
    begin_.notify_all();
    watch(lock);
    if (error_) std::rethrow_exception(error_);
  }

  std::vector<instruction_time> const& times() const { return times_; }
  program_view const& view() const { return view_; }
  std::size_t slot_bytes() const { return bytes_of(memory_); }
  std::size_t host_slot_bytes() const { return bytes_of(away_); }

 private:
  // How far a device has come, and since when.
  struct last_move {
    std::uint64_t moved = 0;
    std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
  };

  using clock = std::chrono::steady_clock;

  template <class Memory>
  static std::size_t bytes_of(std::vector<Memory> const& all) {
    std::size_t sum = 0;
    for (Memory const& one : all) sum += one.view().size();
    return sum;
  }
  static workers able(program_view const& p, workers ranks) {
    if (ranks.empty() || static_cast<int>(ranks.size()) != p.data_ranks)
      throw std::invalid_argument("a program of " + std::to_string(p.data_ranks)
                                  + " data-parallel ranks needs as many workers, not "
                                  + std::to_string(ranks.size()));
    for (worker_ref<queue> const w : ranks) check_able<device>(p, w);
    return ranks;
  }

  static run_options usable(run_options const& o) {
    if (o.mode == send_mode::buffered && o.buffered_depth == 0)
      throw std::invalid_argument("a buffer between two devices has to hold at least one message");
    return o;
  }

  void start() {
    if (options_.record) times_.resize(view_.instructions.size() * workers_.size());
    auto const devices = static_cast<std::size_t>(view_.device_count);
    plans_.reserve(devices * workers_.size());
    for (std::size_t at = 0; at < devices * workers_.size(); ++at) {
      worker_ref<queue> const w = workers_[at / devices];
      auto const layout = [w](value_key key) { return w.layout(key); };
      auto const rank = static_cast<int>(at / devices), d = static_cast<int>(at % devices);
      slot_table const slots = slot_layout(view_, rank, d, layout_function(layout));
      memory_.emplace_back(slots.total, slots.alignment);
      away_.emplace_back(options_.offload_folder, name_of_device(view_, static_cast<int>(at)),
                         slots.host_total, slots.alignment);
      plans_.emplace_back(view_, rank, d, layout_function(layout), slots, memory_.back().data(),
                          detail_of_window(options_.window), away_.back().view().data());
    }
    for (std::size_t rank = 0; rank < workers_.size(); ++rank)
      fabrics_.push_back(std::make_unique<rank_fabric>(view_.device_count, plans_, rank * devices,
                                                       options_.mode, options_.buffered_depth));
    collectives_ = std::make_unique<collectives>(view_, plans_);
    seen_.resize(plans_.size());
    for (std::size_t at = 0; at < plans_.size(); ++at) {
      std::size_t const rank = at / devices,
                        first = rank * view_.instructions.size()
                                + static_cast<std::size_t>(stream_begin(view_, at % devices));
      ends_.push_back(std::make_unique<device_end>(
          static_cast<int>(at % devices), plans_[at], *fabrics_[rank], *collectives_, workers_[rank],
          options_.window, options_.record ? times_.data() + first : nullptr));
    }
    // A waiting thread polls only if that takes the processor from no other.
    if (plans_.size() <= std::thread::hardware_concurrency())
      spin_time_ = std::chrono::microseconds(100);
    try {
      for (std::size_t at = 0; at < plans_.size(); ++at) threads_.emplace_back([this, at] { live(at); });
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

  // A device's thread: runs a step whenever one begins.
  void live(std::size_t at) {
    for (std::uint64_t seen = 0;;) {
      {
        std::unique_lock lock(mutex_);
        begin_.wait(lock, [&] { return leaving_ || step_ != seen; });
        if (leaving_) return;
        seen = step_;
      }
      try {
        ends_[at]->run(plans_[at], stopping_, spin_time_);
      } catch (...) {
        ends_[at]->done.working = -1;
        fail(std::current_exception());
      }
      std::lock_guard const lock(mutex_);
      if (--running_ == 0) end_.notify_all();
    }
  }

  void fail(std::exception_ptr error) {
    {
      std::lock_guard const lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    stop();
  }

  void stop() {
    stopping_ = true;
    for (auto& e : ends_) e->done.changed.raise();
  }

  // Waits until all devices are through; stops them when nothing moves any more.
  void watch(std::unique_lock<std::mutex>& lock) {
    for (last_move& last : seen_) last = {};
    auto const pause =
        std::min<std::chrono::milliseconds>(options_.deadline, std::chrono::milliseconds{50});
    while (!end_.wait_for(lock, pause, [&] { return running_ == 0; })) {
      bool goes_on = static_cast<bool>(error_);
      auto const now = clock::now();
      for (std::size_t at = 0; at < ends_.size(); ++at) {
        progress const& mine = ends_[at]->done;
        // Asks first whether it works: then a long pass that has just ended is seen to have moved.
        bool const works = mine.working.load(std::memory_order_acquire) >= 0;
        if (std::uint64_t const moved = mine.moved(); moved != seen_[at].moved) seen_[at] = {moved, now};
        goes_on = goes_on || works || now - seen_[at].at < options_.deadline;
      }
      if (goes_on) continue;
      std::string text;
      for (std::size_t at = 0; at < ends_.size(); ++at)
        text += (at > 0 ? "; " : "") + where_stands(static_cast<int>(at), now - seen_[at].at);
      error_ = std::make_exception_ptr(stalled(text));
      stop();
    }
  }

  std::string where_stands(int number, clock::duration still) {
    auto const at = static_cast<std::size_t>(number);
    device_status const s = status_of(view_, number / view_.device_count, plans_[at], ends_[at]->done,
                                      *collectives_, static_cast<std::int64_t>(step_),
                                      std::chrono::duration_cast<std::chrono::milliseconds>(still));
    auto const name = [this](int other) { return name_of_device(view_, other); };
    return name(number) + " " + describe(view_, number, s, name);
  }

  program_source program_;
  program_view view_;
  workers workers_;  // by rank
  run_options options_;
  std::vector<aligned_memory> memory_;  // by rank and device, as the next
  std::vector<host_pool> away_;         // where they offload to
  std::vector<device_plan> plans_;
  std::vector<std::unique_ptr<rank_fabric>> fabrics_;  // by rank
  std::unique_ptr<collectives> collectives_;
  std::vector<std::unique_ptr<device_end>> ends_;  // by rank and device
  std::vector<last_move> seen_;                    // of each, while it is watched
  std::chrono::nanoseconds spin_time_{0};
  std::vector<instruction_time> times_;
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;  // guards what follows; taken when a step begins, ends or fails
  std::condition_variable begin_, end_;
  std::uint64_t step_ = 0;
  std::size_t running_ = 0;
  bool leaving_ = false;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace ashlar::host

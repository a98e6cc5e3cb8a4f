// Runs a program on threads: one a device and data-parallel rank, and one for each further lane that the
// device uses.
#pragma once

#include <ashlar/check/check.hpp>
#include <ashlar/host/error.hpp>
#include <ashlar/host/meetings.hpp>
#include <ashlar/host/memory.hpp>
#include <ashlar/host/transport.hpp>
#include <ashlar/program/names.hpp>

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
      : runtime(std::move(p), std::vector<Worker*>{&w}, options) {}

  // The same for data-parallel ranks, a worker each. Throws std::invalid_argument unless there are as
  // many as the program has ranks, and when the workers lack a verb that it needs (run/collectives.hpp).
  runtime(program p, std::vector<Worker*> ranks, run_options options = {})
      : program_(std::make_unique<program>(proved(std::move(p)))),
        view_(program_->view()),
        workers_(able(view_, std::move(ranks))),
        options_(usable(options)) {
    start();
  }

  // Refers to the program's memory, which must outlive the runtime: for frozen programs, proved while
  // compiling.
  runtime(program_view const& p, Worker& w, run_options options = {})
      : runtime(p, std::vector<Worker*>{&w}, options) {}
  runtime(program_view const& p, std::vector<Worker*> ranks, run_options options = {})
      : view_(p), workers_(able(p, std::move(ranks))), options_(usable(options)) {
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
    for (auto& board : boards_) board->reset();
    meetings_->reset();
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

  // By instruction of the whole program, rank after rank, of the last step; empty unless options.record.
  std::vector<instruction_time> const& times() const { return times_; }
  program_view const& view() const { return view_; }

 private:
  using clock = std::chrono::steady_clock;

  static program proved(program p) {
    if (diagnosis const d = check(p); !d.ok()) throw violation{d};
    return p;
  }

  static std::vector<Worker*> able(program_view const& p, std::vector<Worker*> ranks) {
    if (ranks.empty() || static_cast<int>(ranks.size()) != p.data_ranks)
      throw std::invalid_argument("a program of " + std::to_string(p.data_ranks)
                                  + " data-parallel ranks needs as many workers, not "
                                  + std::to_string(ranks.size()));
    for (instruction const& i : p.instructions) {
      bool const shards = i.code == opcode::all_gather || i.code == opcode::reduce_scatter;
      if ((shards && (!sharding_worker<Worker> || p.sharding == sharding_level::none))
          || (i.code == opcode::optimize && !optimizing_worker<Worker>)
          || (i.code == opcode::measure && !measuring_worker<Worker>))
        run_detail::refuse(i, "the worker");
    }
    return ranks;
  }

  static run_options usable(run_options const& o) {
    if (o.mode == transfer_mode::buffered && o.buffered_depth == 0)
      throw std::invalid_argument("a buffer between two devices has to hold at least one message");
    return o;
  }

  std::size_t bytes(std::size_t rank, slot_kind kind, int stage) const {
    if (kind != slot_kind::gradient_shard)
      return static_cast<std::size_t>(workers_[rank]->bytes(kind, stage));
    return shard_of(bytes(rank, slot_kind::weight_gradient, stage), static_cast<int>(rank),
                    view_.data_ranks)
        .size;
  }
  std::size_t devices() const { return static_cast<std::size_t>(view_.device_count); }

  void start() {
    meetings_ = std::make_unique<meetings>(view_);
    if (options_.record) times_.resize(view_.instructions.size() * workers_.size());
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      auto const size_of = [this, rank](slot_kind kind, int stage) { return bytes(rank, kind, stage); };
      std::size_t largest = 0;
      for (int stage = 0; stage < view_.stage_count; ++stage)
        for (slot_kind kind : {slot_kind::activation, slot_kind::gradient})
          largest = std::max(largest, size_of(kind, stage));
      boards_.push_back(
          std::make_unique<switchboard>(view_, options_.mode, options_.buffered_depth, largest));
      for (int d = 0; d < view_.device_count; ++d) {
        memory_.emplace_back(view_, d, size_of);
        plans_.emplace_back(view_, d, memory_.back().slots(), size_of);
        std::size_t const first =
            rank * view_.instructions.size()
            + static_cast<std::size_t>(view_.stream_begin[static_cast<std::size_t>(d)]);
        ends_.emplace_back(view_, static_cast<int>(rank), d, *boards_.back(), *meetings_,
                           *workers_[rank], options_.record ? times_.data() + first : nullptr);
      }
    }
    try {
      for (std::size_t at = 0; at < plans_.size(); ++at)
        for (int lane = 0; lane < view_.lane_count; ++lane)
          if (lane == compute_lane || !plans_[at].lane(lane).empty())
            threads_.emplace_back([this, at, lane] { live(at, lane); });
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
  void live(std::size_t at, int lane) {
    for (std::uint64_t seen = 0;;) {
      {
        std::unique_lock lock(mutex_);
        begin_.wait(lock, [&] { return leaving_ || step_ != seen; });
        if (leaving_) return;
        seen = step_;
      }
      try {
        run_lane(at, lane);
      } catch (stopped const&) {
      } catch (...) {
        fail(std::current_exception());
      }
      std::lock_guard const lock(mutex_);
      if (--running_ == 0) end_.notify_all();
    }
  }

  void run_lane(std::size_t at, int lane) {
    Worker& w = *workers_[at / devices()];
    for (int index : plans_[at].lane(lane)) interpret(plans_[at], index, w, ends_[at]);
  }

  void fail(std::exception_ptr error) {
    {
      std::lock_guard const lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    stop();
  }

  void stop() {
    for (auto& board : boards_) board->stop();
    meetings_->stop();
  }

  // Until all lanes are through; stops them when nothing moves any more.
  void watch(std::unique_lock<std::mutex>& lock) {
    auto last_change = clock::now();
    std::uint64_t moved = 0;
    auto const pause =
        std::min<std::chrono::milliseconds>(options_.stall_timeout, std::chrono::milliseconds{50});
    while (!end_.wait_for(lock, pause, [&] { return running_ == 0; })) {
      std::uint64_t now_moved = 0;
      bool anyone_works = false;
      for (auto const& board : boards_) {
        now_moved += board->moved();
        anyone_works = anyone_works || board->anyone_works();
      }
      if (now_moved != moved || anyone_works) {
        moved = now_moved;
        last_change = clock::now();
      } else if (!error_ && clock::now() - last_change >= options_.stall_timeout) {
        error_ = std::make_exception_ptr(stalled(where_all_stand()));
        stop();
      }
    }
  }

  std::string where_all_stand() {
    std::string text =
        "nothing has moved for " + std::to_string(options_.stall_timeout.count()) + " ms:";
    for (std::size_t at = 0; at < plans_.size(); ++at)
      for (int lane = 0; lane < view_.lane_count; ++lane) {
        device_plan const& plan = plans_[at];
        std::size_t const rank = at / devices();
        auto const d = static_cast<int>(at % devices());
        std::size_t const done = boards_[rank]->progress(d, lane).count();
        if (done >= plan.lane(lane).size()) continue;
        int const index = plan.lane(lane)[done];
        if (workers_.size() > 1) text += " rank " + std::to_string(rank) + ',';
        text += " device " + std::to_string(d) + " waits at position " + std::to_string(index) + " ("
                + to_string(plan.at(index).what) + ");";
      }
    return text;
  }

  std::unique_ptr<program> program_;
  program_view view_;
  std::vector<Worker*> workers_;  // by rank
  run_options options_;
  std::unique_ptr<meetings> meetings_;
  std::vector<std::unique_ptr<switchboard>> boards_;  // by rank
  std::vector<slot_memory> memory_;                   // by rank and device, as the next two
  std::vector<device_plan> plans_;
  std::vector<host_transport<Worker>> ends_;
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

// The host's model of the transport concept: gates between lanes, channels between devices.
#pragma once

#include <ashlar/host/channel.hpp>
#include <ashlar/host/gate.hpp>
#include <ashlar/host/reduction.hpp>
#include <ashlar/run.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::host {

// When an instruction began and ended, in nanoseconds since the step began.
struct instruction_time {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// What the threads of all devices share. Everything is allocated here, before the first step.
class switchboard {
 public:
  switchboard(program_view const& p, transfer_mode mode, std::uint32_t depth,
              std::size_t largest_message)
      : devices_(static_cast<std::size_t>(p.device_count)),
        lanes_(static_cast<std::size_t>(p.lane_count)),
        progress_(devices_ * lanes_),
        computing_(devices_),
        position_(p.instructions.size(), 0),
        channels_(devices_ * devices_),
        reductions_(static_cast<std::size_t>(p.stage_count)) {
    std::vector<std::size_t> members(reductions_.size(), 0);
    for (std::size_t d = 0; d < devices_; ++d) {
      std::vector<std::uint32_t> next(lanes_, 0);
      auto at = static_cast<std::size_t>(p.stream_begin[d]);
      for (instruction const& i : p.stream(static_cast<int>(d))) {
        position_[at++] = next[static_cast<std::size_t>(i.lane)]++;
        if (i.code == opcode::send && !between(static_cast<int>(d), i.peer))
          between(static_cast<int>(d), i.peer) = std::make_unique<channel>(mode, depth, largest_message);
        if (i.code == opcode::receive && !between(i.peer, static_cast<int>(d)))
          between(i.peer, static_cast<int>(d)) = std::make_unique<channel>(mode, depth, largest_message);
        if (i.code == opcode::reduce) ++members[static_cast<std::size_t>(i.what.stage)];
      }
    }
    for (std::size_t stage = 0; stage < members.size(); ++stage)
      if (members[stage] > 1) reductions_[stage] = std::make_unique<reduction>(members[stage]);
  }

  gate& progress(int device, int lane) {
    return progress_[static_cast<std::size_t>(device) * lanes_ + static_cast<std::size_t>(lane)];
  }
  std::atomic<bool>& computing(int device) { return computing_[static_cast<std::size_t>(device)]; }
  // How many instructions of its lane stand before instruction `index` of the whole program.
  std::uint32_t position(int index) const { return position_[static_cast<std::size_t>(index)]; }
  std::unique_ptr<channel>& between(int source, int target) {
    return channels_[static_cast<std::size_t>(source) * devices_ + static_cast<std::size_t>(target)];
  }
  reduction& reduction_of(int stage) { return *reductions_[static_cast<std::size_t>(stage)]; }

  void reset() {
    each([](auto& part) { part.reset(); });
    for (auto& flag : computing_) flag.store(false, std::memory_order_relaxed);
  }
  void stop() {
    each([](auto& part) { part.stop(); });
  }

  // What changes when anything moves.
  std::uint64_t moved() const {
    std::uint64_t sum = 0;
    for (gate const& g : progress_) sum += g.count();
    return sum;
  }
  bool anyone_computes() const {
    for (auto const& flag : computing_)
      if (flag.load(std::memory_order_acquire)) return true;
    return false;
  }

 private:
  template <class Act>
  void each(Act act) {
    for (gate& g : progress_) act(g);
    for (auto& c : channels_)
      if (c) act(*c);
    for (auto& r : reductions_)
      if (r) act(*r);
  }

  std::size_t devices_, lanes_;
  std::vector<gate> progress_;                          // by device and lane: instructions done
  std::vector<std::atomic<bool>> computing_;            // by device
  std::vector<std::uint32_t> position_;                 // by instruction of the program
  std::vector<std::unique_ptr<channel>> channels_;      // by source and target
  std::vector<std::unique_ptr<reduction>> reductions_;  // by stage
};

// One device's end of the switchboard.
template <worker Worker>
class host_transport {
 public:
  using clock = std::chrono::steady_clock;

  // `times`, if not null, points to the first instruction's time of this device.
  host_transport(program_view const& p, int device, switchboard& board, Worker& w,
                 instruction_time* times)
      : stream_(p.stream(device)),
        device_(device),
        first_(p.stream_begin[static_cast<std::size_t>(device)]),
        board_(&board),
        worker_(&w),
        times_(times) {}

  void step_begins(clock::time_point now) { start_ = now; }

  void wait(instruction const&, int index) {
    int const lane = stream_[static_cast<std::size_t>(index)].lane;
    board_->progress(device_, lane).await(board_->position(first_ + index) + 1);
  }
  void begin(instruction const& i, int index) {
    if (i.code == opcode::compute) board_->computing(device_).store(true, std::memory_order_release);
    if (times_ != nullptr) times_[index].begin = now();
  }
  void send(instruction const& i, message m, buffer bytes) {
    board_->between(device_, i.peer)->send(m, bytes);
  }
  void receive(instruction const& i, message m, buffer bytes) {
    board_->between(i.peer, device_)->receive(m, bytes);
  }
  void reduce(instruction const& i, buffer bytes) {
    board_->reduction_of(i.what.stage)
        .run(static_cast<std::size_t>(i.peer), bytes,
             [&](buffer into, buffer from) { worker_->accumulate(i.what.stage, into, from); });
  }
  void done(instruction const& i, int index) {
    if (times_ != nullptr) times_[index].end = now();
    if (i.code == opcode::compute) board_->computing(device_).store(false, std::memory_order_release);
    board_->progress(device_, i.lane).advance();
  }

 private:
  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count();
  }

  list_view<instruction> stream_;
  int device_;
  int first_;
  switchboard* board_;
  Worker* worker_;
  instruction_time* times_;
  clock::time_point start_{};
};

}  // namespace ashlar::host

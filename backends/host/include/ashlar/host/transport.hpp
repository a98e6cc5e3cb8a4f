// The host's model of the transport concept: gates between lanes, channels between devices.
#pragma once

#include <ashlar/host/channel.hpp>
#include <ashlar/host/gate.hpp>
#include <ashlar/host/meetings.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/interpreter.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar::host {

// When an instruction began and ended, in nanoseconds since the step began.
struct instruction_time {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// What the threads of all devices of one rank share. Everything is allocated here, before the first
// step.
class switchboard {
 public:
  // Throws std::invalid_argument for a lane or a peer that is not there; of a program that nobody
  // proved.
  switchboard(program_view const& p, transfer_mode mode, std::uint32_t depth,
              std::size_t largest_message)
      : devices_(static_cast<std::size_t>(p.device_count)),
        lanes_(static_cast<std::size_t>(p.lane_count)),
        progress_(devices_ * lanes_),
        working_(devices_ * lanes_),
        position_(p.instructions.size(), 0),
        channels_(devices_ * devices_) {
    for (std::size_t d = 0; d < devices_; ++d) {
      std::vector<std::uint32_t> next(lanes_, 0);
      auto at = static_cast<std::size_t>(p.stream_begin[d]);
      for (instruction const& i : p.stream(static_cast<int>(d))) {
        require(i.lane >= 0 && i.lane < p.lane_count, i, "lane");
        position_[at++] = next[static_cast<std::size_t>(i.lane)]++;
        if (i.code != opcode::compute && i.code != opcode::send && i.code != opcode::receive)
          require(i.group >= 0 && i.group <= p.groups.count(), i, "group");
        if (i.code != opcode::send && i.code != opcode::receive) continue;
        require(i.peer >= 0 && i.peer < p.device_count, i, "peer");
        int const self = static_cast<int>(d), source = i.code == opcode::send ? self : i.peer,
                  target = i.code == opcode::send ? i.peer : self;
        if (auto& c = between(source, target); !c)
          c = std::make_unique<channel>(source, target, mode, depth, largest_message);
      }
    }
  }

  gate& progress(int device, int lane) {
    return progress_[static_cast<std::size_t>(device) * lanes_ + static_cast<std::size_t>(lane)];
  }
  // Whether the lane's thread is inside the worker, where it may stay for as long as it likes.
  std::atomic<bool>& working(int device, int lane) {
    return working_[static_cast<std::size_t>(device) * lanes_ + static_cast<std::size_t>(lane)];
  }
  // How many instructions of its lane stand before instruction `index` of the whole program.
  std::uint32_t position(int index) const { return position_[static_cast<std::size_t>(index)]; }
  std::unique_ptr<channel>& between(int source, int target) {
    return channels_[static_cast<std::size_t>(source) * devices_ + static_cast<std::size_t>(target)];
  }

  void reset() {
    each([](auto& part) { part.reset(); });
    for (auto& flag : working_) flag.store(false, std::memory_order_relaxed);
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
  bool anyone_works() const {
    for (auto const& flag : working_)
      if (flag.load(std::memory_order_acquire)) return true;
    return false;
  }

 private:
  static void require(bool holds, instruction const& i, char const* what) {
    if (!holds)
      throw std::invalid_argument("the instruction " + to_string(i) + " names a " + what
                                  + " that is not there");
  }

  template <class Act>
  void each(Act act) {
    for (gate& g : progress_) act(g);
    for (auto& c : channels_)
      if (c) act(*c);
  }

  std::size_t devices_, lanes_;
  std::vector<gate> progress_;                      // by device and lane: instructions done
  std::vector<std::atomic<bool>> working_;          // by device and lane
  std::vector<std::uint32_t> position_;             // by instruction of the program
  std::vector<std::unique_ptr<channel>> channels_;  // by source and target
};

// One device's end of its rank's switchboard.
template <worker Worker>
class host_transport {
 public:
  using clock = std::chrono::steady_clock;

  // `times`, if not null, points to the first instruction's time of this device.
  host_transport(program_view const& p, int rank, int device, switchboard& board, meetings& all,
                 Worker& w, instruction_time* times)
      : stream_(p.stream(device)),
        rank_(rank),
        device_(device),
        first_(p.stream_begin[static_cast<std::size_t>(device)]),
        board_(&board),
        meetings_(&all),
        worker_(&w),
        times_(times) {}

  void step_begins(clock::time_point now) { start_ = now; }

  void wait(instruction const&, int index) {
    int const lane = stream_[static_cast<std::size_t>(index)].lane;
    board_->progress(device_, lane).await(board_->position(first_ + index) + 1);
  }
  void begin(instruction const& i, int index) {
    // A lane that has nothing to wait for would else run on for the rest of a step that has failed.
    board_->progress(device_, i.lane).await(0);
    if (i.lane == compute_lane) works(i, true);
    if (times_ != nullptr) times_[index].begin = now();
  }
  void send(instruction const& i, message m, buffer bytes) {
    board_->between(device_, i.peer)->send(m, bytes);
  }
  void receive(instruction const& i, message m, buffer bytes) {
    board_->between(i.peer, device_)->receive(m, bytes);
  }
  void reduce(instruction const& i, buffer bytes) {
    meetings_->reduce(rank_, device_, i, bytes, adding(i));
    works(i, true);  // reduced() comes next
  }
  void gather(instruction const&, buffer shard, buffer whole) {
    meetings_->between_ranks(device_).gather(rank_, shard, whole);
  }
  void scatter(instruction const& i, buffer whole, buffer shard) {
    meetings_->between_ranks(device_).scatter(rank_, whole, shard, adding(i));
  }
  double statistics(instruction const&, double mine) {
    return meetings_->statistics(rank_, device_, mine);
  }
  void clear(instruction const&, buffer bytes) {
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
  }
  void done(instruction const& i, int index) {
    if (times_ != nullptr) times_[index].end = now();
    works(i, false);
    board_->progress(device_, i.lane).advance();
  }

 private:
  auto adding(instruction const& i) {
    return [this, &i](buffer into, buffer from) {
      works(i, true);
      worker_->accumulate(i.group, into, from);
      works(i, false);
    };
  }
  void works(instruction const& i, bool yes) {
    board_->working(device_, i.lane).store(yes, std::memory_order_release);
  }
  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count();
  }

  list_view<instruction> stream_;
  int rank_;
  int device_;
  int first_;
  switchboard* board_;
  meetings* meetings_;
  Worker* worker_;
  instruction_time* times_;
  clock::time_point start_{};
};

}  // namespace ashlar::host

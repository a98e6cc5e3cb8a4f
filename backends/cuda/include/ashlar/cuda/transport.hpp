// How devices meet: a rendezvous starts at once when all of its members have posted their parts.
#pragma once

#include <ashlar/core/opcode.hpp>
#include <ashlar/cuda/queue.hpp>
#include <ashlar/run/frame.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ashlar::cuda {

// A transfer or a collective that a device of this process posts.
struct posted {
  opcode code = opcode::send;
  int number = 0;  // of the device, among those of all ranks
  queue* on = nullptr;
  transfer_call transfer = {};
  collective_call collective = {};
};

class transport {
 public:
  transport() = default;
  transport(transport const&) = delete;
  transport& operator=(transport const&) = delete;
  virtual ~transport() = default;

  void post(posted p) { posted_.push_back(p); }
  // Starts the parts of one rendezvous that the devices of this process have posted.
  void meet() {
    if (posted_.empty()) return;
    start(posted_);
    posted_.clear();
  }
  // Forgets, before a step, what a failed step has left.
  virtual void step_begins() { posted_.clear(); }

  // Errors that have occurred meanwhile; empty if none.
  virtual std::string failure() { return {}; }
  // Ends everything that waits for others.
  virtual void abort() {}
  // Calls act(), which puts a step on the streams. If its calls may wait for other processes, another
  // thread calls look() meanwhile. An exception of look() ends these calls, and is thrown here.
  virtual void guarded(std::function<void()> const& act, std::function<void()> const& /*look*/) {
    act();
  }

 private:
  virtual void start(std::span<posted const> together) = 0;

  std::vector<posted> posted_;
};

}  // namespace ashlar::cuda

#include "block.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace cuda_substitute {

using ashlar::cuda::warp_size;
using ashlar::cuda::grid_detail::here;
using ashlar::cuda::grid_detail::of_lanes;

block_runner& this_threads_runner() {
  thread_local block_runner runner;
  return runner;
}

void block_runner::run(ashlar::cuda::grid_detail::place const& where, std::function<void()> const& body,
                       random_bits& random) {
  here = where;
  body_ = &body;
  random_ = &random;
  alive_ = where.threads;
  auto const threads = static_cast<std::size_t>(where.threads);
  lanes_.assign(threads, {});
  came_to_meeting_.assign((threads + warp_size - 1) / warp_size, 0);
  ready_.resize(threads);
  for (std::size_t t = 0; t < threads; ++t) ready_[t] = static_cast<int>(t);
  thrown_ = nullptr;
  try {
    while (alive_ > 0) {
      if (ready_.empty()) release_barrier();
      switch_from(host_);
      if (thrown_) std::rethrow_exception(thrown_);
    }
  } catch (...) {  // threads that wait are dropped
    idle_.clear();
    fibers_.clear();
    throw;
  }
}

// The fiber's main function: runs the thread that it was given, then whoever is ready.
void block_runner::take_turns(fiber& self) {
  while (true) {
    run_thread();
    lanes_[static_cast<std::size_t>(running_)].now = state::ended;
    --alive_;
    idle_.push_back(&self);
    switch_from(self);
  }
}

void block_runner::run_thread() {
  try {
    (*body_)();
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

int block_runner::take_ready() {
  if (ready_.empty() || thrown_) return nobody;
  std::swap(ready_[random_->below(ready_.size())], ready_.back());
  int const taken = ready_.back();
  ready_.pop_back();
  return taken;
}

// Somebody who is ready goes on, or the host's thread if nobody is. A thread that has not begun begins
// on a fiber that is idle, which may be this one.
void block_runner::switch_from(fiber& self) {
  running_ = take_ready();
  fiber* next = &host_;
  if (running_ != nobody) {
    here.thread = running_;
    lane& l = lanes_[static_cast<std::size_t>(running_)];
    if (l.on == nullptr && idle_.empty()) {
      auto const slot = fibers_.size();
      fibers_.push_back(std::make_unique<fiber>([this, slot] { take_turns(*fibers_[slot]); }));
      l.on = fibers_.back().get();
    } else if (l.on == nullptr) {
      l.on = idle_.back();
      idle_.pop_back();
    }
    next = l.on;
  }
  if (next != &self) self.switch_to(*next);
}

void block_runner::wait(state what, char const* name, char const* file, int line) {
  lane& l = lanes_[static_cast<std::size_t>(running_)];
  l.now = what;
  l.name = name;
  l.file = file;
  l.line = line;
  if (what == state::at_meeting) act_if_all_came(running_ / warp_size);
  switch_from(*l.on);
}

void block_runner::wait_at_barrier(char const* file, int line) {
  wait(state::at_barrier, "barrier", file, line);
}

void block_runner::meet(char const* name, void* own, void (*act)(of_lanes const&), char const* file,
                        int line) {
  lane& l = lanes_[static_cast<std::size_t>(running_)];
  l.own = own;
  l.act = act;
  wait(state::at_meeting, name, file, line);
}

bool block_runner::same_place(lane const& a, lane const& b) const {
  return a.now == b.now && a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

void block_runner::act_if_all_came(int warp) {
  auto const w = static_cast<std::size_t>(warp);
  if (++came_to_meeting_[w] < warp_size) return;
  lane* const first = &lanes_[w * warp_size];
  of_lanes own;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!same_place(first[i], *first) || first[i].act != first->act) return;  // stuck for good
    own[i] = first[i].own;
  }
  came_to_meeting_[w] = 0;
  first->act(own);
  for (int i = 0; i < warp_size; ++i) {
    first[i].now = state::ready;
    ready_.push_back(warp * warp_size + i);
  }
}

void block_runner::begin_copy(void* to, void const* from, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0
      || reinterpret_cast<std::uintptr_t>(from) % bytes != 0)
    throw std::runtime_error("what is copied asynchronously is not aligned to its size");
  lanes_[static_cast<std::size_t>(running_)].copies.push_back({to, from, bytes});
}

void block_runner::await_copies() {
  std::vector<copy>& copies = lanes_[static_cast<std::size_t>(running_)].copies;
  for (copy const& c : copies)
    c.from == nullptr ? std::memset(c.to, 0, c.bytes) : std::memcpy(c.to, c.from, c.bytes);
  copies.clear();
}

// Nobody is ready. Threads that have ended are not waited for, as on a GPU.
void block_runner::release_barrier() {
  auto const waits = [](lane const& l) { return l.now != state::ended; };
  auto const first = std::find_if(lanes_.begin(), lanes_.end(), waits);
  for (lane const& l : lanes_)
    if (waits(l) && (l.now != state::at_barrier || !same_place(l, *first))) throw_stuck();
  for (std::size_t t = 0; t < lanes_.size(); ++t)
    if (waits(lanes_[t])) {
      lanes_[t].now = state::ready;
      ready_.push_back(static_cast<int>(t));
    }
}

std::string block_runner::describe(int thread) const {
  std::string const who = "thread " + std::to_string(thread);
  if (thread >= static_cast<int>(lanes_.size())) return "there is no " + who;
  lane const& l = lanes_[static_cast<std::size_t>(thread)];
  if (l.now == state::ended) return who + " has ended";
  return who + " waits at the " + l.name + " of " + l.file + ":" + std::to_string(l.line);
}

void block_runner::throw_stuck() const {
  std::string const block = "in block (" + std::to_string(here.block_x) + ", "
                            + std::to_string(here.block_y) + ", " + std::to_string(here.block_z)
                            + ") threads wait for threads that do not come: ";
  int const threads = static_cast<int>(lanes_.size());
  // A shuffle or a product needs its whole warp; a barrier, all that have not ended.
  for (int t = 0; t < threads; ++t) {
    lane const& l = lanes_[static_cast<std::size_t>(t)];
    if (l.now != state::at_meeting) continue;
    int const warp_begin = t / warp_size * warp_size;
    for (int other = warp_begin; other < warp_begin + warp_size; ++other)
      if (other >= threads || !same_place(lanes_[static_cast<std::size_t>(other)], l))
        throw std::runtime_error(block + describe(t) + ", " + describe(other));
  }
  int first = 0;
  while (lanes_[static_cast<std::size_t>(first)].now == state::ended) ++first;
  int second = first;
  while (
      lanes_[static_cast<std::size_t>(second)].now == state::ended
      || same_place(lanes_[static_cast<std::size_t>(second)], lanes_[static_cast<std::size_t>(first)]))
    ++second;
  throw std::runtime_error(block + describe(first) + ", " + describe(second));
}

}  // namespace cuda_substitute

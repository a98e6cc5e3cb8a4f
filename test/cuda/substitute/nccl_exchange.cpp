#include "nccl_exchange.hpp"

#include "nccl_collectives.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace nccl_substitute {

exchange::exchange(int rank, std::vector<wire> wires, std::size_t staging)
    : rank_(rank), staging_(staging), peers_(wires.size()) {
  for (std::size_t r = 0; r < wires.size(); ++r) peers_[r].line = std::move(wires[r]);
}

void exchange::run(operation_call& o) {
  std::lock_guard const lock(busy_);
  if (closed_ && !aborted()) throw std::runtime_error("its communicator was destroyed before");
  if (!aborted()) {
    if (error() == ncclSuccess) move(0);  // what was staged before may have been received
    for (transfer_call& t : o.transfers) post(t);
    for (collective_call& c : o.collectives) post(c);
  }
  while (!aborted() && !over(o)) {
    if (error() == ncclSuccess) {
      move(2);
      require_present(o);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (!aborted()) return;
  for (transfer_call const& t : o.transfers)
    if (!t.sends && t.left > 0 && t.bytes > 0) std::memset(t.memory, 0xff, t.bytes);
  for (peer& p : peers_) p = {};
  own_sends_.clear();
  collectives_.clear();
}

bool exchange::over(operation_call& o) {
  if (error() != ncclSuccess) return false;
  bool all = true;
  for (transfer_call const& t : o.transfers) all = all && t.left == 0;
  for (collective_call& c : o.collectives) {
    if (c.agreed && !c.over && std::count(c.left.begin(), c.left.end(), 0U) == size()) {
      finish(c, rank_);
      collectives_.erase(c.number);
      c.over = true;
    }
    all = all && c.over;
  }
  for (peer const& p : peers_) all = all && !(p.line.open() && p.line.has_more_to_write());
  return all;
}

void exchange::post(transfer_call& t) {
  peer& p = peers_[static_cast<std::size_t>(t.peer)];
  if (t.peer == rank_) {
    (t.sends ? own_sends_ : p.wanted).push_back(&t);
    return match_own();
  }
  if (!t.sends) {
    p.wanted.push_back(&t);
    return match(t.peer);
  }
  if (t.bytes + p.staged_bytes <= staging_) {
    p.staged_bytes += t.bytes;
    p.sent.push_back({nullptr, t.bytes});
    p.line.put({.kind = wire_kind::staged, .number = t.bytes, .bytes = t.bytes}, t.memory, &t.left);
  } else {
    p.sent.push_back({&t, t.bytes});
    p.line.put({.kind = wire_kind::offer, .number = t.bytes});
  }
}

void exchange::match_own() {
  auto& wanted = peers_[static_cast<std::size_t>(rank_)].wanted;
  while (!own_sends_.empty() && !wanted.empty()) {
    transfer_call &from = *own_sends_.front(), &to = *wanted.front();
    own_sends_.pop_front();
    wanted.pop_front();
    if (from.bytes != to.bytes)
      return complain(ncclInvalidUsage, "rank " + std::to_string(rank_) + " sends itself "
                                            + std::to_string(from.bytes) + " bytes and receives "
                                            + std::to_string(to.bytes));
    if (to.bytes > 0) std::memmove(to.memory, from.memory, to.bytes);
    from.left = to.left = 0;
  }
}

// Receives and offers meet in order.
void exchange::match(int rank) {
  peer& p = peers_[static_cast<std::size_t>(rank)];
  while (!p.wanted.empty() && !p.offers.empty() && p.offers.front().has_come) {
    transfer_call& to = *p.wanted.front();
    offered const o = std::move(p.offers.front());
    p.wanted.pop_front();
    p.offers.pop_front();
    if (to.bytes != o.bytes)
      return complain(ncclInvalidUsage, "rank " + std::to_string(rank_) + " receives "
                                            + std::to_string(to.bytes) + " bytes where rank "
                                            + std::to_string(rank) + " sends "
                                            + std::to_string(o.bytes));
    p.line.put({.kind = wire_kind::accept});
    if (o.is_staged) {
      if (o.bytes > 0) std::memcpy(to.memory, o.staged.data(), o.bytes);
      to.left = 0;
    } else {
      p.accepted.push_back(&to);
    }
  }
}

std::byte* exchange::begin(int rank, frame const& f) {
  peer& p = peers_[static_cast<std::size_t>(rank)];
  switch (f.kind) {
    case wire_kind::staged:
      p.offers.push_back({f.bytes, true, false, std::vector<std::byte>(f.bytes)});
      return p.offers.back().staged.data();
    case wire_kind::data:
      return p.accepted.front()->memory;
    case wire_kind::announce:
      return reinterpret_cast<std::byte*>(&p.announcing);
    case wire_kind::part:
      return collectives_.at(f.number)->parts[static_cast<std::size_t>(rank)].data();
    default:
      return nullptr;
  }
}

void exchange::end(int rank, frame const& f) {
  peer& p = peers_[static_cast<std::size_t>(rank)];
  switch (f.kind) {
    case wire_kind::offer:
      p.offers.push_back({f.number, false, true, {}});
      return match(rank);
    case wire_kind::staged:
      p.offers.back().has_come = true;
      return match(rank);
    case wire_kind::accept: {
      unaccepted const u = p.sent.front();
      p.sent.pop_front();
      if (u.call == nullptr)
        p.staged_bytes -= u.bytes;
      else
        p.line.put({.kind = wire_kind::data, .bytes = u.bytes}, u.call->memory, &u.call->left);
      return;
    }
    case wire_kind::data:
      p.accepted.front()->left = 0;
      p.accepted.pop_front();
      return;
    case wire_kind::announce:
      p.announced[f.number] = p.announcing;
      if (collectives_.contains(f.number)) start_if_agreed(*collectives_.at(f.number));
      return;
    case wire_kind::part:
      --collectives_.at(f.number)->left[static_cast<std::size_t>(rank)];
      return;
    case wire_kind::farewell:
      p.said_farewell = true;
      return;
    case wire_kind::wrong:
      fail(static_cast<ncclResult_t>(f.number),
           "rank " + std::to_string(rank) + " says that it has failed");
  }
}

// Moves all sockets a step further, after waiting at most `wait_ms` for one.
void exchange::move(int wait_ms) {
  std::vector<pollfd> all;
  for (peer const& p : peers_)
    if (p.line.open())
      all.push_back({p.line.number(),
                     static_cast<short>(p.line.has_more_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
  {
    orders_nothing const meanwhile;
    static_cast<void>(::poll(all.data(), all.size(), wait_ms));
  }
  for (int r = 0; r < size(); ++r) {
    wire& line = peers_[static_cast<std::size_t>(r)].line;
    if (!line.open()) continue;
    bool const writes = line.write();
    bool const reads = line.read([this, r](frame const& f) { return begin(r, f); },
                                 [this, r](frame const& f) { end(r, f); });
    if (!writes || !reads) gone(r);
  }
}

void exchange::gone(int rank) {
  peer& p = peers_[static_cast<std::size_t>(rank)];
  p.line = {};
  if (!p.said_farewell) fail(ncclRemoteError, "rank " + std::to_string(rank) + " has gone away");
}

// A rank that has said farewell will never answer.
void exchange::require_present(operation_call const& o) {
  auto const left = [this](int r) {
    return r != rank_ && !peers_[static_cast<std::size_t>(r)].line.open();
  };
  bool waits = false;
  for (transfer_call const& t : o.transfers) waits = waits || (t.left > 0 && left(t.peer));
  for (collective_call const& c : o.collectives)
    for (int r = 0; r < size(); ++r) {
      auto const place = static_cast<std::size_t>(r);
      bool const has_come = c.agreed || peers_[place].announced.contains(c.number);
      waits = waits || (!c.over && left(r) && (!has_come || c.left[place] > 0));
    }
  if (waits) fail(ncclRemoteError, "a rank has destroyed its communicator");
}

void exchange::look() {
  std::unique_lock const lock(busy_, std::try_to_lock);
  if (lock && !aborted() && !closed_ && error() == ncclSuccess) move(0);
}

void exchange::fail(ncclResult_t error, std::string const& words) {
  std::lock_guard const lock(words_mutex_);
  if (!words_.empty()) return;  // what came first
  words_ = words;
  error_ = error;
}

std::string exchange::words() const {
  std::lock_guard const lock(words_mutex_);
  return words_;
}

// The others hear of it, too.
void exchange::complain(ncclResult_t error, std::string const& words) {
  fail(error, words);
  for (peer& p : peers_) {
    if (!p.line.open()) continue;
    p.line.put({.kind = wire_kind::wrong, .number = static_cast<std::uint64_t>(error)});
    static_cast<void>(p.line.write());
  }
}

void exchange::abort() {
  aborted_.store(true, std::memory_order_relaxed);
  std::lock_guard const lock(busy_);
  closed_ = true;
  for (peer& p : peers_) p = {};
}

void exchange::say_farewell() {
  std::lock_guard const lock(busy_);
  for (peer& p : peers_) {
    if (!p.line.open()) continue;
    p.line.put({.kind = wire_kind::farewell});
    static_cast<void>(p.line.write());
    p.line = {};
  }
  closed_ = true;
}

}  // namespace nccl_substitute

// Rank 0 at its port: it asks every connection for its rank and closes those of others.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/frames.hpp>
#include <ashlar/cuda/socket.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// The processes have not found each other, or one has gone away. The message names the ranks.
class rendezvous_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace rendezvous_detail {

// `0, 2, 5`: the ranks for which `pick` holds.
template <class Pick>
std::string ranks_where(int size, Pick pick) {
  std::string text;
  for (int r = 0; r < size; ++r)
    if (pick(r)) text += (text.empty() ? "" : ", ") + std::to_string(r);
  return text;
}

inline std::string within(std::chrono::milliseconds t) {
  return " within " + std::to_string(t.count()) + " ms";
}

// Sends them the reason; ignores those that do not listen.
inline void send_failure(std::vector<tcp_socket> const& to, std::string const& text) {
  for (tcp_socket const& s : to)
    if (s)
      static_cast<void>(write_frame(s, frame_kind::failure, view_of(text),
                                    socket_clock::now() + std::chrono::milliseconds(100)));
}

class reception {
 public:
  reception(tcp_socket listener, int size)
      : listener_(std::move(listener)), peers_(static_cast<std::size_t>(size)) {}

  // The sockets to all ranks; the one to itself is empty. Throws rendezvous_failed, and tells those who
  // have come.
  std::vector<tcp_socket> wait(std::chrono::milliseconds deadline) {
    auto const end = socket_clock::now() + deadline;
    while (missing()) {
      if (socket_clock::now() >= end)
        fail("nobody came as rank "
             + ranks_where(static_cast<int>(peers_.size()),
                           [this](int r) { return r != 0 && !nth(peers_, r); })
             + within(deadline));
      wait_for_any(watched(), end);
      admit();
      ask();
      notice_who_left();
    }
    return std::move(peers_);
  }

 private:
  struct connection {
    tcp_socket socket;
    inbox in{sizeof(hello)};
    socket_clock::time_point leave = socket_clock::now() + std::chrono::seconds(2);
  };

  bool missing() const { return std::any_of(peers_.begin() + 1, peers_.end(), std::logical_not<>{}); }

  std::vector<tcp_socket const*> watched() const {
    std::vector<tcp_socket const*> all{&listener_};
    for (tcp_socket const& s : peers_)
      if (s) all.push_back(&s);
    for (connection const& g : pending_) all.push_back(&g.socket);
    return all;
  }

  void admit() {
    while (tcp_socket s = accept_from(listener_)) {
      pending_.push_back({std::move(s)});
      if (pending_.size() > peers_.size() + 64) pending_.pop_front();  // others than ranks
    }
  }

  void ask() {
    for (connection& g : pending_)
      if (g.in.read(g.socket) == inbox::state::complete && g.in.kind() == frame_kind::hello
          && g.in.payload().size() == sizeof(hello))
        accept_rank(g);
    std::erase_if(pending_, [now = socket_clock::now()](connection const& g) {
      return !g.socket || g.in.now() != inbox::state::open || now >= g.leave;
    });
  }

  void accept_rank(connection& g) {
    hello h;
    std::memcpy(&h, g.in.payload().data(), sizeof h);
    int const size = static_cast<int>(peers_.size());
    std::string const who = "rank " + std::to_string(h.rank) + " at " + peer_of(g.socket);
    std::string wrong;
    if (h.protocol != hello{}.protocol)
      wrong = who + " is of another version: its protocol has the number " + std::to_string(h.protocol)
              + ", that of rank 0 " + std::to_string(hello{}.protocol);
    else if (h.size != size)
      wrong = who + " was started as one of " + std::to_string(h.size) + " processes, rank 0 as one of "
              + std::to_string(size);
    else if (h.rank < 1 || h.rank >= size)
      wrong = who + " came, but the ranks that are awaited are 1 to " + std::to_string(size - 1);
    else if (tcp_socket& place = nth(peers_, h.rank))
      wrong = "two processes came as rank " + std::to_string(h.rank) + ", from " + peer_of(place)
              + " and from " + peer_of(g.socket);
    else
      place = std::move(g.socket);
    if (wrong.empty()) return;
    peers_.push_back(std::move(g.socket));  // gets the message, too
    fail(wrong);
  }

  void notice_who_left() {
    for (std::size_t r = 1; r < peers_.size(); ++r)
      if (peers_[r] && has_gone(peers_[r]))
        fail("rank " + std::to_string(r) + " has gone away before all had come");
  }

  [[noreturn]] void fail(std::string const& text) {
    send_failure(peers_, text);
    throw rendezvous_failed(text);
  }

  tcp_socket listener_;
  std::vector<tcp_socket> peers_;   // by rank; empty: has not come
  std::deque<connection> pending_;  // those who have not yet said who they are
};

}  // namespace rendezvous_detail
}  // namespace ashlar::cuda

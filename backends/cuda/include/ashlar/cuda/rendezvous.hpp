// Processes that know only the address of rank 0 meet there and exchange a few bytes: the id of an NCCL
// communicator, and the hashes of their programs.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/frames.hpp>
#include <ashlar/cuda/launch_environment.hpp>
#include <ashlar/cuda/reception.hpp>
#include <ashlar/cuda/socket.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// Rank 0 listens at its port, and the others connect to it. Everything that is exchanged goes through
// rank 0. Any failure ends as rendezvous_failed, with the same message on all ranks that can be told,
// and never later than a second after twice the deadline of the call (the resolver's time limits are
// additional). Connections that are from no rank are sent away after two seconds at most.
class rendezvous {
 public:
  using bytes = std::vector<std::byte>;
  // The most that one rank may hand over in a call.
  static constexpr std::size_t most_bytes = 1U << 20U;

  // All ranks call it; the last one to come lets all go on. On rank 0, `listening` is called with the
  // port once others can connect (port 0: any that is free). Rank 0 listens on all interfaces unless its
  // address is that of the machine for itself.
  rendezvous(launch_place const& where, std::chrono::milliseconds deadline,
             std::function<void(int port)> const& listening = {})
      : where_(where), deadline_(deadline) {
    if (where.size < 1 || where.rank < 0 || where.rank >= where.size)
      throw std::invalid_argument("rank " + std::to_string(where.rank) + " is none of "
                                  + std::to_string(where.size));
    if (where.size == 1) return;
    if (where.rank == 0)
      receive_all_ranks(listening);
    else
      go_to_rank_0();
  }

  int rank() const { return where_.rank; }
  int size() const { return where_.size; }

  // Gives rank 0's bytes to all; those of the others are not read. All ranks call it.
  bytes broadcast(std::span<std::byte const> mine) {
    require_small(mine.size());
    if (where_.rank != 0) return await(frame_kind::broadcast, most_bytes);
    send_to_all(frame_kind::broadcast, mine);
    return {mine.begin(), mine.end()};
  }

  // Gives the bytes of every rank, by rank, to all. All ranks call it.
  std::vector<bytes> gather_all(std::span<std::byte const> mine) {
    require_small(mine.size());
    if (where_.rank == 0) {
      std::vector<bytes> all = collect(mine);
      send_to_all(frame_kind::collection, joined(all));
      return all;
    }
    auto const sent = rendezvous_detail::write_frame(peers_[0], frame_kind::contribution, mine,
                                                     socket_clock::now() + deadline_);
    // Rank 0 may have said why it went.
    if (sent == transfer::late) throw rendezvous_failed("rank 0 takes no bytes" + in_time());
    return split(await(frame_kind::collection, (most_bytes + 8) * static_cast<std::size_t>(size())));
  }

 private:
  using frame_kind = rendezvous_detail::frame_kind;
  using inbox = rendezvous_detail::inbox;

  void receive_all_ranks(std::function<void(int)> const& listening) {
    std::string_view const a = where_.address;
    bool const alone = a == "localhost" || a == "127.0.0.1" || a == "::1";
    tcp_socket listener;
    try {
      listener = listen_on(alone ? where_.address.c_str() : nullptr, where_.port);
      if (listening) listening(port_of(listener));
    } catch (socket_error const& e) {
      throw rendezvous_failed("rank 0 cannot listen at port " + std::to_string(where_.port) + ": "
                              + e.what());
    }
    peers_ = rendezvous_detail::reception(std::move(listener), size()).wait(deadline_);
    send_to_all(frame_kind::welcome, {});
  }

  // Tries again while rank 0 has not begun to listen, or something else hangs up.
  void go_to_rank_0() {
    rendezvous_detail::hello const h{.rank = rank(), .size = size()};
    auto const begin = socket_clock::now(), end = begin + deadline_;
    peers_.resize(1);
    for (;;) {
      std::string reason = "it hangs up";
      try {
        peers_[0] = connect_to(where_.address.c_str(), where_.port, end);
        inbox in(most_bytes);
        if (rendezvous_detail::write_frame(peers_[0], frame_kind::hello, std::as_bytes(std::span(&h, 1)),
                                           end)
            == transfer::done)
          if (wait_until_read(in, begin + answer_timeout()) != inbox::state::gone) {
            static_cast<void>(checked(in, frame_kind::welcome));
            return;
          }
      } catch (socket_error const& e) {
        reason = e.what();
      }
      if (socket_clock::now() >= end)
        throw rendezvous_failed("rank " + std::to_string(rank()) + " has not met rank 0 at "
                                + where_.address + ", port " + std::to_string(where_.port) + in_time()
                                + ": " + reason);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  inbox::state wait_until_read(inbox& in, socket_clock::time_point end) {
    while (in.read(peers_[0]) == inbox::state::open && wait_for(peers_[0], POLLIN, end)) {
    }
    return in.now();
  }

  bytes await(frame_kind kind, std::size_t most) {
    if (size() == 1) return {};
    inbox in(most);
    wait_until_read(in, socket_clock::now() + answer_timeout());
    return checked(in, kind);
  }

  static bytes checked(inbox const& in, frame_kind kind) {
    switch (in.now()) {
      case inbox::state::open:
        throw rendezvous_failed("rank 0 does not answer in time");
      case inbox::state::gone:
        throw rendezvous_failed("rank 0 has gone away");
      case inbox::state::garbage:
        throw rendezvous_failed("what answers is not rank 0");
      case inbox::state::complete:
        break;
    }
    if (in.kind() == frame_kind::failure)
      throw rendezvous_failed(rendezvous_detail::text_of(in.payload()));
    if (in.kind() != kind) throw rendezvous_failed("rank 0 exchanges something else at this point");
    return in.payload();
  }

  std::vector<bytes> collect(std::span<std::byte const> mine) {
    std::vector<bytes> all(static_cast<std::size_t>(size()));
    all[0].assign(mine.begin(), mine.end());
    std::vector<inbox> in(all.size(), inbox(most_bytes));
    auto const end = socket_clock::now() + deadline_;
    for (;;) {
      std::vector<tcp_socket const*> open;
      for (std::size_t r = 1; r < all.size(); ++r) {
        auto const now = in[r].read(peers_[r]);
        if (now == inbox::state::open) open.push_back(&peers_[r]);
        if (now == inbox::state::gone) fail("rank " + std::to_string(r) + " has gone away");
        if (now == inbox::state::garbage) fail("rank " + std::to_string(r) + " sends garbage");
      }
      if (open.empty()) break;
      if (socket_clock::now() >= end)
        fail("nothing came from rank "
             + rendezvous_detail::ranks_where(
                 size(), [&in](int r) { return r != 0 && nth(in, r).now() == inbox::state::open; })
             + in_time());
      rendezvous_detail::wait_for_any(open, end);
    }
    for (std::size_t r = 1; r < all.size(); ++r) all[r] = in[r].payload();
    return all;
  }

  void send_to_all(frame_kind kind, std::span<std::byte const> what) {
    auto const end = socket_clock::now() + deadline_;
    for (std::size_t r = 1; r < peers_.size(); ++r) {
      auto const sent = has_gone(peers_[r]) ? transfer::gone
                                            : rendezvous_detail::write_frame(peers_[r], kind, what, end);
      if (sent == transfer::gone) fail("rank " + std::to_string(r) + " has gone away");
      if (sent == transfer::late) fail("rank " + std::to_string(r) + " takes no bytes" + in_time());
    }
  }

  // All ranks' bytes in one frame: each with its length before it.
  static bytes joined(std::vector<bytes> const& all) {
    bytes one;
    for (bytes const& b : all) {
      std::uint64_t const length = b.size();
      auto const l = std::as_bytes(std::span(&length, 1));
      one.insert(one.end(), l.begin(), l.end());
      one.insert(one.end(), b.begin(), b.end());
    }
    return one;
  }
  std::vector<bytes> split(bytes const& one) const {
    std::span<std::byte const> rest = one;
    std::vector<bytes> all;
    for (std::uint64_t length = 0; rest.size() >= sizeof length;) {
      std::memcpy(&length, rest.data(), sizeof length);
      rest = rest.subspan(sizeof length);
      if (length > rest.size()) break;
      all.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length));
      rest = rest.subspan(length);
    }
    if (all.size() != static_cast<std::size_t>(size()) || !rest.empty())
      throw rendezvous_failed("rank 0 sends garbage");
    return all;
  }

  static void require_small(std::size_t n) {
    if (n > most_bytes)
      throw std::length_error("a rank hands over " + std::to_string(n) + " bytes, more than "
                              + std::to_string(most_bytes));
  }

  [[noreturn]] void fail(std::string const& text) {
    rendezvous_detail::send_failure(peers_, text);
    throw rendezvous_failed(text);
  }
  std::string in_time() const { return rendezvous_detail::within(deadline_); }
  // Rank 0 may come late and then wait for others; it knows best whom to name.
  std::chrono::milliseconds answer_timeout() const { return 2 * deadline_ + std::chrono::seconds(1); }

  launch_place where_;
  std::chrono::milliseconds deadline_;
  std::vector<tcp_socket> peers_;  // on rank 0 by rank, the first one empty; on others only rank 0
};

}  // namespace ashlar::cuda

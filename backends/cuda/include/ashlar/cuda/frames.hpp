// The frames on a socket of the rendezvous: a head that gives the kind and the number of bytes, then
// these bytes.
#pragma once

#include <ashlar/cuda/socket.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::cuda::rendezvous_detail {

enum class frame_kind : std::uint32_t { hello, welcome, broadcast, contribution, collection, failure };

// A frame has the machine's own byte order: one with another order is rejected.
struct frame_head {
  std::uint64_t magic = 0x4173686c61722131;  // also tells a stranger
  frame_kind kind{};
  std::uint32_t bytes = 0;
};

struct hello {
  std::uint32_t protocol = 1;
  std::int32_t rank = 0, size = 0;
};

using bytes = std::vector<std::byte>;
using view = std::span<std::byte const>;

inline view view_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(view b) {
  std::string text(b.size(), ' ');
  if (!b.empty()) std::memcpy(text.data(), b.data(), b.size());
  return text;
}

inline transfer write_frame(tcp_socket const& to, frame_kind kind, view payload,
                            socket_clock::time_point end) {
  frame_head const head{.kind = kind, .bytes = static_cast<std::uint32_t>(payload.size())};
  bytes all(sizeof head);
  std::memcpy(all.data(), &head, sizeof head);
  all.insert(all.end(), payload.begin(), payload.end());
  return write_all(to, all, end);
}

// One frame, read as it arrives. A frame of more than `most` bytes is garbage, so memory is bounded.
class inbox {
 public:
  enum class state { open, complete, gone, garbage };

  explicit inbox(std::size_t most) : most_(most) {}

  // Takes the bytes that have arrived, without waiting, and none beyond the frame.
  state read(tcp_socket const& from) {
    while (state_ == state::open) {
      std::span<std::byte> const rest = missing();
      std::ptrdiff_t const n = read_some(from, rest);
      if (n == 0) break;
      if (n < 0)
        state_ = state::gone;
      else
        take(static_cast<std::size_t>(n));
    }
    return state_;
  }
  state now() const { return state_; }
  frame_kind kind() const { return head_.kind; }
  bytes const& payload() const { return payload_; }

 private:
  std::span<std::byte> missing() {
    return have_ < sizeof head_ ? std::as_writable_bytes(std::span(&head_, 1)).subspan(have_)
                                : std::span(payload_).subspan(have_ - sizeof head_);
  }
  void take(std::size_t n) {
    have_ += n;
    if (have_ < sizeof head_) return;
    if (have_ == sizeof head_) {
      if (head_.magic != frame_head{}.magic || head_.bytes > most_) {
        state_ = state::garbage;
        return;
      }
      payload_.resize(head_.bytes);
    }
    if (have_ == sizeof head_ + payload_.size()) state_ = state::complete;
  }

  std::size_t most_, have_ = 0;
  frame_head head_{};
  bytes payload_;
  state state_ = state::open;
};

// Waits until one of the sockets can be read, for a moment at most.
inline void wait_for_any(std::span<tcp_socket const* const> sockets, socket_clock::time_point end) {
  std::vector<pollfd> all;
  for (tcp_socket const* s : sockets) all.push_back({s->number(), POLLIN, 0});
  auto const left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - socket_clock::now()).count();
  static_cast<void>(
      ::poll(all.data(), all.size(), static_cast<int>(std::clamp<long long>(left + 1, 0, 100))));
}

}  // namespace ashlar::cuda::rendezvous_detail

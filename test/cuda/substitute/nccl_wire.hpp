// The frames between two ranks of the substitute of NCCL, both ways on one socket.
#pragma once

#include "sanitizers.hpp"
#include <ashlar/cuda/socket.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#if defined(ASHLAR_THREAD_SANITIZER)
extern "C" void AnnotateIgnoreSyncBegin(char const* file, int line);
extern "C" void AnnotateIgnoreSyncEnd(char const* file, int line);
#endif

namespace nccl_substitute {

// The thread sanitizer takes all uses of sockets as ordered. Ranks that exchange messages are not: each
// orders its own streams.
class orders_nothing {
 public:
#if defined(ASHLAR_THREAD_SANITIZER)
  orders_nothing() { AnnotateIgnoreSyncBegin(__FILE__, __LINE__); }
  ~orders_nothing() { AnnotateIgnoreSyncEnd(__FILE__, __LINE__); }
#else
  orders_nothing() {}
#endif
  orders_nothing(orders_nothing const&) = delete;
  orders_nothing& operator=(orders_nothing const&) = delete;
};

enum class wire_kind : std::uint32_t {
  offer,     // a send of `number` bytes waits for its receive
  staged,    // a send whose bytes follow: it is over for the sender
  accept,    // the oldest send that was not accepted has met its receive
  data,      // the bytes of the oldest accepted offer
  announce,  // of the collective call `number`: its description
  part,      // of the collective call `number`: what this rank adds to it
  farewell,  // nothing comes any more
  wrong,     // the communicator has failed with the error `number`
};

struct frame {
  wire_kind kind{};
  std::uint32_t unused = 0;
  std::uint64_t number = 0, bytes = 0;  // that follow
};

// A socket that reads and writes what can be moved without waiting.
class wire {
 public:
  wire() = default;
  explicit wire(ashlar::cuda::tcp_socket s) : socket_(std::move(s)) {}

  int number() const { return socket_.number(); }
  bool open() const { return static_cast<bool>(socket_); }
  bool has_more_to_write() const { return !outgoing_.empty(); }

  // The bytes stay where they are until they are written; then `left` is one less.
  void put(frame head, std::byte const* from = nullptr, std::size_t* left = nullptr) {
    auto const b = std::as_bytes(std::span(&head, 1));
    outgoing_.push_back({{b.begin(), b.end()}, nullptr, b.size(), 0, head.bytes == 0 ? left : nullptr});
    if (head.bytes > 0) outgoing_.push_back({{}, from, head.bytes, 0, left});
  }
  void put_copy(frame head, std::span<std::byte const> bytes) {
    head.bytes = bytes.size();
    auto const b = std::as_bytes(std::span(&head, 1));
    outgoing_.push_back({{b.begin(), b.end()}, nullptr, b.size(), 0, nullptr});
    outgoing_.back().owned.insert(outgoing_.back().owned.end(), bytes.begin(), bytes.end());
    outgoing_.back().bytes += bytes.size();
  }

  // Returns false if the other end has gone.
  bool write() {
    while (!outgoing_.empty()) {
      piece& p = outgoing_.front();
      // The bytes go through memory of our own: memory that may not be read shows as it does elsewhere.
      std::size_t const n = std::min(bounce_.size(), p.bytes - p.done);
      std::memcpy(bounce_.data(), (p.from != nullptr ? p.from : p.owned.data()) + p.done, n);
      std::ptrdiff_t const written = moved([&] { return write_some(socket_, {bounce_.data(), n}); });
      if (written < 0) return false;
      if (written == 0) return true;
      p.done += static_cast<std::size_t>(written);
      if (p.done < p.bytes) continue;
      if (p.left != nullptr) --*p.left;
      outgoing_.pop_front();
    }
    return true;
  }

  // begin(frame) says where its bytes go, end(frame) follows them. False: the other end has gone.
  template <class Begin, class End>
  bool read(Begin begin, End end) {
    for (;;) {
      bool const in_head = have_ < sizeof head_;
      std::size_t const missing = in_head
                                      ? sizeof head_ - have_
                                      : static_cast<std::size_t>(head_.bytes) - (have_ - sizeof head_);
      if (missing > 0) {
        std::size_t const most = std::min(bounce_.size(), missing);
        std::ptrdiff_t const n = moved([&] { return read_some(socket_, {bounce_.data(), most}); });
        if (n < 0) return false;
        if (n == 0) return true;
        std::byte* const to =
            in_head ? reinterpret_cast<std::byte*>(&head_) + have_ : target_ + (have_ - sizeof head_);
        std::memcpy(to, bounce_.data(), static_cast<std::size_t>(n));
        have_ += static_cast<std::size_t>(n);
        if (in_head && have_ == sizeof head_) target_ = begin(head_);
      }
      if (have_ < sizeof head_ || have_ < sizeof head_ + head_.bytes) continue;
      have_ = 0;
      end(head_);
    }
  }

 private:
  struct piece {
    std::vector<std::byte> owned;
    std::byte const* from;
    std::size_t bytes, done;
    std::size_t* left;
  };

  template <class Move>
  static std::ptrdiff_t moved(Move move) {
    orders_nothing const meanwhile;
    return move();
  }

  ashlar::cuda::tcp_socket socket_;
  std::deque<piece> outgoing_;
  std::array<std::byte, 1U << 16U> bounce_{};
  frame head_{};
  std::size_t have_ = 0;  // of the frame that comes, its head included
  std::byte* target_ = nullptr;
};

}  // namespace nccl_substitute

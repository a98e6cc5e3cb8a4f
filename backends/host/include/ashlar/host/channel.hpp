// One direction between two devices: messages arrive in the order in which they were sent.
#pragma once

#include <ashlar/host/error.hpp>
#include <ashlar/host/progress.hpp>
#include <ashlar/run/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace ashlar::host {

// With rendezvous, a send lasts until its receive has come; the last to come copies, straight from slot
// to slot. With buffers, a send lasts until there is a free place to copy to, or its receive has come.
enum class send_mode : unsigned char { rendezvous, buffered };

// The k-th send of a step meets the k-th receive. Memory is allocated when the channel is made.
class channel {
 public:
  // Leads from device `source` to `target`, with `messages` a step. Buffered, it has `depth` > 0 places
  // of `capacity` bytes each.
  channel(int source, int target, send_mode mode, std::uint32_t depth, std::size_t capacity,
          std::size_t messages)
      : source_(source), target_(target), capacity_(capacity), sends_(messages), receives_(messages) {
    if (mode == send_mode::buffered)
      places_.assign(depth, std::vector<std::byte>(std::max<std::size_t>(capacity, 1)));
  }

  // Prepares a step.
  void reset() { sent_ = wanted_ = kept_ = taken_ = 0; }

  // Throws mismatched_transfer when a message meets a receive of another message or of another size;
  // std::length_error when the message is too large for its place; std::logic_error when there is one
  // message too many.
  void send(message m, buffer bytes, posted by) { post(sends_, sent_, {m, bytes, by}); }
  void receive(message m, buffer bytes, posted by) { post(receives_, wanted_, {m, bytes, by}); }

 private:
  struct half {
    message what;
    buffer bytes;
    posted by;
  };

  void post(std::vector<half>& halves, std::size_t& count, half h) {
    std::lock_guard const lock(mutex_);
    if (count == halves.size()) throw std::logic_error("a device sends more than was announced");
    halves[count++] = h;
    while (take() || keep()) {
    }
  }

  bool take() {
    if (taken_ == std::min(sent_, wanted_)) return false;
    half const &from = sends_[taken_], &to = receives_[taken_];
    if (from.what != to.what || from.bytes.size() != to.bytes.size())
      throw mismatched_transfer(source_, target_, from.what, from.bytes.size(), to.what,
                                to.bytes.size());
    bool const was_kept = taken_ < kept_;
    copy(to.bytes, was_kept ? place_of(taken_) : from.bytes.data());
    ++taken_;
    kept_ = std::max(kept_, taken_);
    to.by.finish();
    if (!was_kept) from.by.finish();
    return true;
  }

  bool keep() {
    if (kept_ == sent_ || kept_ - taken_ == places_.size()) return false;
    half const& from = sends_[kept_];
    if (from.bytes.size() > capacity_)
      throw std::length_error("a message is larger than its place in the buffer");
    copy({place_of(kept_), from.bytes.size()}, from.bytes.data());
    ++kept_;
    from.by.finish();
    return true;
  }

  std::byte* place_of(std::size_t n) { return places_[n % places_.size()].data(); }
  static void copy(buffer to, std::byte const* from) {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }

  int source_, target_;
  std::size_t capacity_;
  std::vector<std::vector<std::byte>> places_;
  std::mutex mutex_;  // guards what follows
  std::vector<half> sends_, receives_;
  std::size_t sent_ = 0, wanted_ = 0, kept_ = 0, taken_ = 0;
};

}  // namespace ashlar::host

// One direction between two devices: messages arrive in the order in which they were sent.
#pragma once

#include <ashlar/host/error.hpp>
#include <ashlar/host/gate.hpp>
#include <ashlar/run/interpreter.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ashlar::host {

// Rendezvous: a send lasts until its receive has taken the message, straight from the sender's slot.
// Buffered: a send copies into a free place of a ring and lasts only while there is none.
enum class transfer_mode : unsigned char { rendezvous, buffered };

// Single sender, single receiver. No locks; memory is allocated when the channel is made.
class channel {
 public:
  // From device `source` to `target`. `depth` > 0 places of `capacity` bytes each; one place without
  // bytes for rendezvous.
  channel(int source, int target, transfer_mode mode, std::uint32_t depth, std::size_t capacity)
      : source_(source),
        target_(target),
        buffered_(mode == transfer_mode::buffered),
        places_(buffered_ ? depth : 1) {
    if (buffered_)
      for (place& p : places_) p.own.resize(capacity);
  }

  void reset() {
    sent_.reset();
    taken_.reset();
    next_send_ = next_receive_ = 0;
  }

  void stop() {
    sent_.stop();
    taken_.stop();
  }

  void send(message m, buffer bytes) {
    std::uint32_t const mine = next_send_++;
    auto const depth = static_cast<std::uint32_t>(places_.size());
    if (mine >= depth) taken_.await(mine + 1 - depth);
    place& p = places_[mine % depth];
    p.what = m;
    p.bytes = bytes;
    if (buffered_) {
      p.bytes = buffer(p.own).first(bytes.size());
      std::memcpy(p.own.data(), bytes.data(), bytes.size());
    }
    sent_.advance();
    if (!buffered_) taken_.await(mine + 1);
  }

  // Throws mismatched_transfer when the next message is another one, or of another size.
  void receive(message m, buffer bytes) {
    std::uint32_t const mine = next_receive_++;
    sent_.await(mine + 1);
    place const& p = places_[mine % places_.size()];
    if (p.what != m || p.bytes.size() != bytes.size())
      throw mismatched_transfer(source_, target_, p.what, p.bytes.size(), m, bytes.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), p.bytes.data(), bytes.size());
    taken_.advance();
  }

 private:
  struct place {
    message what;
    buffer bytes;
    std::vector<std::byte> own;
  };

  int source_, target_;
  bool buffered_;
  std::vector<place> places_;
  gate sent_, taken_;
  std::uint32_t next_send_ = 0;     // the sender's own
  std::uint32_t next_receive_ = 0;  // the receiver's own
};

}  // namespace ashlar::host

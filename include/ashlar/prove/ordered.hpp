// Level "ordered": between two devices messages arrive in the order in which they are sent. (NCCL has no
// tags: the k-th send to a peer meets the peer's k-th receive.)
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/prove/messages.hpp>

#include <cstddef>

namespace ashlar {

// Whether the receives of a complete program stand in the order of their sends. Takes fewer steps of
// constant evaluation than to find the first that does not.
constexpr bool are_in_order(program const& p, message_index const& index) {
  dynamic_array<int> last_sent(static_cast<std::size_t>(p.device_count()), -1);  // by peer
  instruction const* const all = p.instructions.data();
  int const* const partner = index.partners().data();
  for (int d = 0; d < p.device_count(); ++d) {
    int const begin = stream_begin(p, d);
    for (int i = begin, end = stream_end(p, d); i < end; ++i) {
      if (all[i].code != opcode::send) continue;
      int& before = nth(last_sent, all[i].peer);  // of another device, if it is not in this stream
      if (before >= begin && partner[before] > partner[i]) return false;
      before = i;
    }
  }
  return true;
}

// Checks a complete program. `index` holds both halves of every transfer. Linear in instructions.
constexpr diagnosis check_ordered(program const& p, message_index const& index) {
  if (are_in_order(p, index)) return {};
  auto const device_count = static_cast<std::size_t>(p.device_count());
  dynamic_array<int> sent(device_count), received(device_count);  // by one device, by peer
  dynamic_array<int> ranks(p.instructions.size());
  int* const rank = ranks.data();
  instruction const* const all = p.instructions.data();
  for (std::size_t d = 0; d < device_count; ++d) {
    int const begin = stream_begin(p, d), end = stream_end(p, d);
    for (int i = begin; i < end; ++i) {
      instruction const& self = all[i];
      if (self.code == opcode::send)
        rank[i] = nth(sent, self.peer)++;
      else if (self.code == opcode::receive)
        rank[i] = nth(received, self.peer)++;
    }
    for (int i = begin; i < end; ++i) {
      instruction const& self = all[i];
      if (self.code == opcode::send)
        nth(sent, self.peer) = 0;
      else if (self.code == opcode::receive)
        nth(received, self.peer) = 0;
    }
  }
  int const* const partner = index.partners().data();
  for (int i = 0, count = static_cast<int>(p.instructions.size()); i < count; ++i) {
    if (all[i].code != opcode::send) continue;
    int const receive = partner[i];
    if (rank[i] != rank[receive])
      return {.broken = rule::sends_and_receives_have_the_same_order,
              .first = index.at(i),
              .second = index.at(receive),
              .number = rank[i]};
  }
  return {};
}

}  // namespace ashlar

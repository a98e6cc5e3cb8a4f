// Level "ordered": between two devices messages arrive in the order in which they are sent. (NCCL has no
// tags: the k-th send to a peer meets the peer's k-th receive.)
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/prove/messages.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Checks a complete program. `index` holds both halves of every transfer. Linear in instructions.
constexpr diagnosis check_ordered(program const& p, message_index const& index) {
  auto const device_count = static_cast<std::size_t>(p.device_count());
  std::vector<int> sent(device_count, 0), received(device_count, 0);  // by one device, by peer
  std::vector<int> rank(p.instructions.size(), 0);
  for (std::size_t d = 0; d < device_count; ++d) {
    auto const begin = static_cast<std::size_t>(stream_begin(p, d)),
               end = static_cast<std::size_t>(stream_end(p, d));
    for (std::size_t i = begin; i < end; ++i) {
      instruction const& self = p.instructions[i];
      if (self.code == opcode::send)
        rank[i] = nth(sent, self.peer)++;
      else if (self.code == opcode::receive)
        rank[i] = nth(received, self.peer)++;
    }
    for (std::size_t i = begin; i < end; ++i) {
      instruction const& self = p.instructions[i];
      if (self.code != opcode::send && self.code != opcode::receive) continue;
      nth(sent, self.peer) = nth(received, self.peer) = 0;
    }
  }
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    if (p.instructions[i].code != opcode::send) continue;
    int const receive = index.partners()[i];
    if (rank[i] != nth(rank, receive))
      return {.broken = rule::sends_and_receives_have_the_same_order,
              .first = index.at(static_cast<int>(i)),
              .second = index.at(receive),
              .number = rank[i]};
  }
  return {};
}

}  // namespace ashlar

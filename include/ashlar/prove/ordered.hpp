// Level "ordered": between two devices messages arrive in the order in which they are sent. (NCCL has no
// tags: the k-th send to a peer meets the peer's k-th receive.)
#pragma once

#include <ashlar/prove/messages.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// For a complete program. `index` holds both halves of every transfer. Linear in instructions, plus p^2.
constexpr diagnosis check_ordered(program const& p, message_index& index) {
  auto const devices_squared =
      static_cast<std::size_t>(p.device_count()) * static_cast<std::size_t>(p.device_count());
  std::vector<int> sent(devices_squared, 0), received(devices_squared, 0);  // by source, then target
  std::vector<int> rank(p.instructions.size(), 0);
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    instruction const& self = p.instructions[i];
    int const device = index.device(static_cast<int>(i));
    if (self.code == opcode::send)
      rank[i] = sent[static_cast<std::size_t>(device * p.device_count() + self.peer)]++;
    else if (self.code == opcode::receive)
      rank[i] = received[static_cast<std::size_t>(self.peer * p.device_count() + device)]++;
  }
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    if (p.instructions[i].code != opcode::send) continue;
    int const receive = index.of(index.number(p.instructions[i])).receive;
    if (rank[i] != rank[static_cast<std::size_t>(receive)])
      return {.broken = rule::sends_and_receives_have_the_same_order,
              .first = index.at(static_cast<int>(i)),
              .second = index.at(receive),
              .number = rank[i]};
  }
  return {};
}

}  // namespace ashlar

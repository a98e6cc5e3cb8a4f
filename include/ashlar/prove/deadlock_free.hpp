// Level "deadlock-free under rendezvous": all lanes reach their end, although a send lasts until its
// receive has come.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/lane_machine.hpp>
#include <ashlar/prove/messages.hpp>

#include <cstddef>

namespace ashlar {

// Asks no more than whether the end is reached.
class rendezvous_machine : public lane_machine<rendezvous_machine> {
 public:
  using lane_machine::lane_machine;
};

// Whether all devices reach their end even if each has one lane for all of its instructions. Then they
// do with more lanes: all that an instruction waits for on its device stands before it in the stream
// (hazards.hpp). This asks for no table of waits. Checks a complete program; `index` holds both halves
// of every transfer. Linear in instructions.
constexpr bool ends_in_order(program const& p, message_index const& index) {
  constexpr int none = -1;
  auto const device_count = static_cast<std::size_t>(p.device_count());
  auto const groups = static_cast<std::size_t>(all_reduce_count(p));
  instruction const* const all = p.instructions.data();
  int const *const partner = index.partners().data(), *const begin = p.stream_begin.data();
  dynamic_array<int> next_of(begin, begin + device_count), awake;
  dynamic_array<char> asleep(device_count, 0);
  dynamic_array<std::size_t> met(groups);                       // by group: how many have come
  dynamic_array<int> waits(groups, none), after(device_count);  // and these, linked by `after`
  int* const next = next_of.data();
  auto const pass_on = [&](int device) {
    ++next[device];
    if (nth(asleep, device) == 0) return;
    nth(asleep, device) = 0;
    awake.push_back(device);
  };
  for (std::size_t d = 0; d < device_count; ++d) awake.push_back(static_cast<int>(d));
  while (!awake.empty()) {
    int const device = awake.back(), end = begin[device + 1];
    awake.pop_back();
    for (int& at = next[device]; at != end; ++at) {
      instruction const& self = all[at];
      if (self.code == opcode::compute) continue;
      if (self.code == opcode::send || self.code == opcode::receive) {
        if (next[self.peer] != partner[at]) break;
        pass_on(self.peer);
      } else if (self.code == opcode::all_reduce) {
        int& first = nth(waits, self.group);
        if (++nth(met, self.group) < member_count(p, self.group)) {
          nth(after, device) = first;
          first = device;
          break;
        }
        for (; first != none; first = nth(after, first)) pass_on(first);
        nth(met, self.group) = 0;
      }
    }
    nth(asleep, device) = 1;
  }
  for (std::size_t d = 0; d < device_count; ++d)
    if (next[d] != begin[d + 1]) return false;
  return true;
}

// Checks a complete program; `index` holds both halves of every transfer. If it gets stuck, names two
// neighbours of a cycle of waits and its length. Linear in instructions and waits.
constexpr diagnosis check_deadlock_free(program const& p, message_index const& index) {
  if (ends_in_order(p, index)) return {};
  rendezvous_machine machine(p.view(), index.partners(), p.view().lane_count);
  return machine.run() ? diagnosis{} : machine.diagnose_cycle(rule::no_cycle_of_waits);
}

}  // namespace ashlar

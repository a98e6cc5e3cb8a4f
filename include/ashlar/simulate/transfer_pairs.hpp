// The conditions for timing the instructions of a program: its passes are known, and its transfers come
// in pairs.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/prove/messages.hpp>
#include <ashlar/prove/well_formed.hpp>
#include <ashlar/simulate/options.hpp>

#include <cstddef>

namespace ashlar {

// Returns what check_well_formed and check(options) find wrong, and rule::every_pass_is_known for an
// instruction on an unknown stage, micro-batch, part of work or peer. Linear.
constexpr diagnosis check_can_be_timed(program const& p, simulation_options const& o) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) return d;
  if (diagnosis const d =
          check(o, p.stage_count(), p.device_count(), p.micro_batch_count(), p.graph.sequence_chunks());
      !d.ok())
    return d;
  for (int d = 0; d < p.device_count(); ++d) {
    int const begin = stream_begin(p, d);
    for (int i = begin; i < stream_end(p, d); ++i) {
      instruction const& self = nth(p.instructions, i);
      if (sums_work(self)) continue;  // well-formed
      if (is_part(self.what)
          && !copies_to_or_from_host(self)) {  // a part, or the clear of a job's state
        if (!p.work.view().knows(self.what))
          return {.broken = rule::every_pass_is_known, .first = site_of(self, d, i - begin)};
        continue;
      }
      bool const moves = self.code == opcode::send || self.code == opcode::receive;
      if (!p.graph.has(self.what, p.micro_batch_count())
          || (copies_to_or_from_host(self) && self.what.kind != pass_kind::forward)
          || (moves && (self.peer < 0 || self.peer >= p.device_count())))
        return {.broken = rule::every_pass_is_known, .first = site_of(self, d, i - begin)};
    }
  }
  return {};
}

// The other half of each transfer, by instruction, -1 for all else. Throws violation:
// rule::every_send_has_its_receive, rule::every_receive_has_its_send, rule::no_transfer_is_doubled,
// rule::transfers_lead_to_another_device. Linear.
constexpr dynamic_array<int> transfer_pairs(program const& p) {
  message_index index(p);
  auto const at = [&](std::size_t i) -> instruction const& { return p.instructions[i]; };
  auto const is_transfer = [&](std::size_t i) {
    return at(i).code == opcode::send || at(i).code == opcode::receive;
  };
  auto const lonely = [&](std::size_t i) {
    return diagnosis{.broken = at(i).code == opcode::send ? rule::every_send_has_its_receive
                                                          : rule::every_receive_has_its_send,
                     .first = index.at(static_cast<int>(i)),
                     .second = {.device = at(i).peer}};
  };
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    if (!is_transfer(i)) continue;
    int const number = index.number(at(i));
    if (number == message_index::nowhere) refuse(lonely(i));
    int const same = index.enter(number, static_cast<int>(i));
    if (same != message_index::nowhere)
      refuse({.broken = rule::no_transfer_is_doubled,
              .first = index.at(static_cast<int>(i)),
              .second = index.at(same)});
  }
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    if (!is_transfer(i)) continue;
    int const other = index.partners()[i];
    if (other == message_index::nowhere
        || at(static_cast<std::size_t>(other)).peer != index.device(static_cast<int>(i))
        || at(i).peer != index.device(other))
      refuse(lonely(i));
    if (at(i).peer == index.device(static_cast<int>(i)))
      refuse({.broken = rule::transfers_lead_to_another_device,
              .first = index.at(static_cast<int>(i)),
              .second = index.at(other)});
  }
  return index.partners();
}

}  // namespace ashlar
